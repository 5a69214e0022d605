/* SPDX-License-Identifier: MIT */
/*
 * facts.h - what a report tells. What is known is copied under the records' lock; words for places are looked for after
 * that, so that nobody waits for it.
 */
#ifndef ADSM_FACTS_H
#define ADSM_FACTS_H

#include "adsm_once.h"
#include "observe/record.h"

#define ADSM_FACT_SIZE 192		/* of a place in words */
#define ADSM_FACT_WAITERS 16
#define ADSM_ADVICE_SIZE 768		/* of a sentence on a kernel */

struct adsm_fact_cause {
	struct adsm_cause cause;
	char where[ADSM_FACT_SIZE];	/* ""; not known */
	uint64_t opened, opened_writing, faults, transfers[2], bytes[2], place;
};

/* One object, or in the text several that are alike. */
struct adsm_fact_object {
	const struct adsm_record *record;
	size_t n;
	char name[ADSM_NAME_SIZE];
	uint64_t freed_ns;
	uint64_t calls;			/* several: 0 */
	adsmStats stats;
	struct adsm_fact_cause *causes;
	size_t n_causes;
	struct adsm_advice_item *advice;
	size_t n_advice;
	char site[ADSM_FACT_SIZE];
};

/* A kernel, by what its device counts itself. */
struct adsm_fact_kernel {
	int device;
	char name[64];
	struct adsm_kernel_costs costs;
	char advice[ADSM_ADVICE_SIZE];	/* a sentence; "" */
};

struct adsm_facts {
	bool final, no_memory;
	uint64_t wall_ns, counted_ns;	/* since the start; since the counters were 0 */
	adsmStats totals;
	struct adsm_fact_object *entries;	/* largest traffic first */
	size_t n_entries;
	uint64_t n_not_listed;
	adsmOnceWaiter waiters[ADSM_FACT_WAITERS];	/* for write-once units; those first that wait longest */
	size_t n_waiters;		/* in all */
	struct adsm_fact_kernel *kernels;	/* by device, then those that ran longest first */
	size_t n_kernels;
};

/* @final: the program ends. To be ended, whatever there was memory for. */
void adsm_facts_take(struct adsm_facts *facts, bool final);
void adsm_facts_end(struct adsm_facts *facts);

/*
 * The paper's break-down (Figure 10), as the program's threads see it: what they waited for, and the rest, in which
 * they worked. Kernels run beside that.
 */
uint64_t adsm_facts_rest_ns(const struct adsm_facts *facts);
/* Objects that are alike into one. Their advice is gone. */
void adsm_facts_fold(struct adsm_facts *facts);
/* An order of objects, two of them, as qsort() wants it: objects that are told as one are equal. */
int adsm_facts_order(const void *a, const void *b);
void adsm_facts_add_stats(adsmStats *sum, const adsmStats *stats);
void adsm_facts_add_cause(struct adsm_fact_cause *sum, const struct adsm_fact_cause *cause);

#endif
