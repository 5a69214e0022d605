/* SPDX-License-Identifier: MIT */
/*
 * observe.h - the observer that the library's points call (core/observe.h): what is known of objects, for the report,
 * advice and the trace, and the life of these three.
 */
#ifndef ADSM_OBSERVE_H
#define ADSM_OBSERVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/block.h"
#include "core/observe.h"

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

#define ADSM_MANY_PLACES UINT64_MAX

/* ---- objects, while somebody observes */

#define ADSM_CAUSES_MAX 64		/* of one object; further ones are counted as ADSM_WHY_OTHER */
#define ADSM_SITE_DEPTH 8
#define ADSM_RECORDS_MAX 4096

struct adsm_advice;

/* What is known of an object; outlives it. Never freed before adsm_observe_end(). */
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
	struct adsm_advice *advice;	/* advice.c's */
};

/*
 * The records, the youngest first, and how many objects have none because there were too many. Between the two the
 * list and the states of objects stand still: any thread with no lock of the library's, not a signal handler.
 */
struct adsm_record *adsm_records_lock(uint64_t *ret_n_more);
void adsm_records_unlock(void);
/* The counters of a record's object, alive or not. */
void adsm_record_stats(const struct adsm_record *record, adsmStats *ret_stats);

/* ---- life */

/* With the options in force, before the devices are opened: 0, or a negative errno and its sentence. */
int adsm_observe_start(void);
/* The library ends, or the process does: what is written is whole. May be called again. */
void adsm_observe_end(void);
/* Have the helper look at the rings now. Any thread, signal handlers. */
void adsm_observe_poke(void);
/* adsm_os_now_ns() where counting began anew; 0: at the library's start. */
extern uint64_t adsm_counted_ns;

#endif
