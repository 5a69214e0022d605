/* SPDX-License-Identifier: MIT */
/* record.h - data about each object while the library observes: its properties, and what moved its bytes. */
#pragma once

#include "core/object.h"
#include "core/observe.h"
#include "observe/site.h"

/* What one cause did to one object. */
struct adsm_cause_count {
	_Atomic uint64_t key;		/* a hash of the cause; 0: this entry is free */
	struct adsm_cause cause;
	_Atomic bool complete;		/* the member cause is written */
	_Atomic uint64_t opened, opened_writing;	/* blocks opened for reading, for writing */
	_Atomic uint64_t faults;	/* entries of the fault handler */
	_Atomic uint64_t place;		/* of its faults in the object: 1 + the
					   offset, if it is the same for all; 0: none */
	_Atomic uint64_t transfers[2], bytes[2];	/* [0] to the host, [1] to the device */
};

/* All counts of a cause. */
#define ADSM_CAUSE_COUNTS(X) \
	X(opened) X(opened_writing) X(faults) X(transfers[0]) X(transfers[1]) X(bytes[0]) X(bytes[1])

#define ADSM_MANY_PLACES UINT64_MAX
#define ADSM_CAUSES_MAX 64		/* for one object; further ones count as ADSM_WHY_OTHER */
#define ADSM_RECORDS_MAX 4096

/* A record exists longer than its object. It is not freed before the library's next start. */
struct adsm_record {
	struct adsm_record *next;	/* the record made before it */
	uint32_t id;			/* 1, 2, … in the order of allocation */
	_Atomic int device;
	bool device_only, adopted;
	char name[ADSM_NAME_SIZE];	/* from adsmSetName(), or "" */
	uintptr_t start;
	size_t size, block_size;
	uint32_t n_blocks;
	const char *protocol;
	uintptr_t site[ADSM_SITE_DEPTH];	/* where it was allocated: return addresses, inner ones first */
	unsigned n_site;
	uint64_t made_ns, freed_ns;	/* adsm_os_now_ns(); freed_ns is 0 while the object is alive */
	_Atomic uint64_t calls;		/* kernel calls that used it */
	const struct adsm_object *object;	/* NULL after it was freed */
	adsmStats stats;		/* set when it is freed */
	struct adsm_cause_count causes[ADSM_CAUSES_MAX];
	struct adsm_paged *pages;	/* for advice; either both or none */
	struct adsm_usage *use;
};

/*
 * Lock and get the records, the youngest first. *ret_n_more: the number of objects without a record, because there were
 * too many. Until adsm_records_unlock() neither the list nor whether objects are alive changes. Not in signal handlers,
 * and with no lock of the library held.
 */
struct adsm_record *adsm_records_lock(uint64_t *ret_n_more);
void adsm_records_unlock(void);

/* adsm_os_now_ns() at the last reset of the counters; 0: they count from the library's start. */
extern uint64_t adsm_counted_ns;

/* ---- with the records locked */

/* Add a record. NULL: there are too many, or no memory. */
struct adsm_record *adsm_record_new(const struct adsm_object *object);
/* Set its counts to 0, except the object's own counters. */
void adsm_record_reset(struct adsm_record *record);
/* The counters of a record's object, which may be freed. */
void adsm_record_stats(const struct adsm_record *record, adsmStats *ret_stats);

/* Free all records. The library no longer observes. */
void adsm_records_forget(void);

/* The entry for a cause. Any thread may call this, also in the fault handler, with and without locks. */
struct adsm_cause_count *adsm_record_cause(struct adsm_record *record, const struct adsm_cause *cause);
