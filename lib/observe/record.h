/* SPDX-License-Identifier: MIT */
/* record.h - what is known of each object while somebody observes: what it was, and what moved its bytes. */
#ifndef ADSM_RECORD_H
#define ADSM_RECORD_H

#include "core/object.h"
#include "core/observe.h"
#include "observe/site.h"

/* What one cause did to one object. */
struct adsm_cause_count {
	_Atomic uint64_t key;		/* of the cause: a hash; 0: this place is free */
	struct adsm_cause cause;
	_Atomic bool complete;		/* the cause has been written */
	_Atomic uint64_t opened, opened_writing;	/* blocks: read faults, write faults */
	_Atomic uint64_t faults;	/* entries of the fault handler */
	_Atomic uint64_t place;		/* in the object, of its faults: 1 + the offset of all; 0: none */
	_Atomic uint64_t transfers[2], bytes[2];	/* [0] to the host, [1] to the device */
};

/* All that a cause counts. */
#define ADSM_CAUSE_COUNTS(X) \
	X(opened) X(opened_writing) X(faults) X(transfers[0]) X(transfers[1]) X(bytes[0]) X(bytes[1])

#define ADSM_MANY_PLACES UINT64_MAX
#define ADSM_CAUSES_MAX 64		/* of one object; further ones are counted as ADSM_WHY_OTHER */
#define ADSM_RECORDS_MAX 4096

/* Outlives its object. Never freed before the library's next start. */
struct adsm_record {
	struct adsm_record *next;	/* made before it */
	uint32_t id;			/* 1, 2, … as objects are made */
	int device;
	bool device_only, adopted;
	char name[ADSM_NAME_SIZE];	/* adsmSetName(); "" */
	uintptr_t start;
	size_t size, block_size;
	uint32_t n_blocks;
	const char *protocol;
	uintptr_t site[ADSM_SITE_DEPTH];	/* who allocated it: return addresses, inner first */
	unsigned n_site;
	uint64_t made_ns, freed_ns;	/* adsm_os_now_ns(); 0: it is alive */
	_Atomic uint64_t calls;		/* of kernels, that took it */
	const struct adsm_object *object;	/* while it is alive */
	adsmStats stats;		/* once it is freed */
	struct adsm_cause_count causes[ADSM_CAUSES_MAX];
	struct adsm_paged *pages;	/* both or none, for advice */
	struct adsm_usage *use;
};

/*
 * The records, the youngest first, and how many objects have none because there were too many (or NULL). Between the
 * two the list and the states of objects stand still: any thread with no lock of the library's, not a signal handler.
 */
struct adsm_record *adsm_records_lock(uint64_t *ret_n_more);
void adsm_records_unlock(void);

/* adsm_os_now_ns() where counting began anew; 0: at the library's start. */
extern uint64_t adsm_counted_ns;

/* ---- between these two */

/* One more; NULL: there are too many, or there is no memory. */
struct adsm_record *adsm_record_new(const struct adsm_object *object);
/* Its counts begin again at 0, but the object's own. */
void adsm_record_reset(struct adsm_record *record);
/* The counters of a record's object, alive or not. */
void adsm_record_stats(const struct adsm_record *record, adsmStats *ret_stats);

/* Nobody observes any more: all are freed. */
void adsm_records_forget(void);

/* Where a cause is counted; any thread, the fault handler, with and without locks. */
struct adsm_cause_count *adsm_record_cause(struct adsm_record *record, const struct adsm_cause *cause);

#endif
