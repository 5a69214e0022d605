/* SPDX-License-Identifier: MIT */
/* facts.h - the contents of a report. They are copied under the records' lock. Places in words are looked up after
 * that, because this may take long. */
#pragma once

#include "adsm_once.h"
#include "observe/record.h"

#define ADSM_FACT_SIZE 192		/* of a place in words */
#define ADSM_FACT_WAITERS 16
#define ADSM_ADVICE_SIZE 768		/* of a sentence about a kernel */

struct adsm_fact_cause {
	struct adsm_cause cause;
	char where[ADSM_FACT_SIZE];	/* "": not known */
	uint64_t opened, opened_writing, faults, transfers[2], bytes[2], place;
};

/* One object; or, in text reports, several that are alike. */
struct adsm_fact_object {
	const struct adsm_record *record;
	size_t n;
	char name[ADSM_NAME_SIZE];
	uint64_t freed_ns;
	uint64_t calls;			/* 0 if they are several */
	adsmStats stats;
	struct adsm_fact_cause *causes;
	size_t n_causes;
	struct adsm_advice_item *advice;
	size_t n_advice;
	char site[ADSM_FACT_SIZE];
};

/* A kernel, with the costs that its device counts. */
struct adsm_fact_kernel {
	int device;
	char name[64];
	struct adsm_kernel_costs costs;
	char advice[ADSM_ADVICE_SIZE];	/* a sentence, or "" */
};

struct adsm_facts {
	bool final, no_memory;
	uint64_t wall_ns, counted_ns;	/* time since the start; time since the counters were 0 */
	adsmStats totals;
	struct adsm_fact_object *entries;	/* the most bytes moved first */
	size_t n_entries;
	uint64_t n_not_listed;
	adsmOnceWaiter waiters[ADSM_FACT_WAITERS];	/* threads and kernels that wait for
							   write-once units; the longest waits first */
	size_t n_waiters;		/* the number of all */
	struct adsm_fact_kernel *kernels;	/* by device; on each device the longest total time first */
	size_t n_kernels;
};

/* Collect the facts. @final: the program ends. adsm_facts_end() is necessary also if there was too little memory. */
void adsm_facts_take(struct adsm_facts *facts, bool final);
void adsm_facts_end(struct adsm_facts *facts);

/* The rest of the time in the paper's break-down (Figure 10), from the view of the program's threads: the time without
 * waits, transfers, faults, and input and output. Kernels run at the same time. */
uint64_t adsm_facts_rest_ns(const struct adsm_facts *facts);
/* Join objects that are alike to one entry. Their advice is dropped. */
void adsm_facts_fold(struct adsm_facts *facts);
/* Compare two objects, for qsort(). Objects that become one entry are equal. */
int adsm_facts_order(const void *a, const void *b);
void adsm_facts_add_stats(adsmStats *sum, const adsmStats *stats);
void adsm_facts_add_cause(struct adsm_fact_cause *sum, const struct adsm_fact_cause *cause);
