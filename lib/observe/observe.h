/* SPDX-License-Identifier: MIT */
/*
 * observe.h - what the library does, told as it happens: to the report, to advice and to the trace (report.h,
 * advice.h, trace.h). The counters are always kept, here too; while nobody asks for more, each point costs one load
 * and one branch.
 */
#ifndef ADSM_OBSERVE_H
#define ADSM_OBSERVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adsm.h"
#include "backend.h"
#include "core/block.h"
#include "observe/cause.h"
#include "base/stats.h"
#include "observe/warnings.h"

/* Who asks; fixed from the library's start to its end. */
enum { ADSM_OBSERVE_REPORT = 1, ADSM_OBSERVE_TRACE = 2, ADSM_OBSERVE_ADVICE = 4 };

extern unsigned adsm_observing __attribute__((visibility("hidden")));	/* no detour to it */

static inline bool adsm_observes(unsigned who)
{
	return __builtin_expect((adsm_observing & who) != 0, 0);
}

/* ---- causes */

/* What this thread does. Whoever sets it in a signal handler sets it back. */
extern _Thread_local struct adsm_cause adsm_cause;

void adsm_set_cause(enum adsm_why why, const void *where, const char *name);

void adsm_set_cause_of_fault(const struct adsm_fault *fault);

static inline void adsm_because(enum adsm_why why, const void *where, const char *name)
{
	if (adsm_observes(~0u))
		adsm_set_cause(why, where, name);
}

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

/* By object.c: an object has been made, before it is known; is freed, after it is forgotten. NULL: no record. */
struct adsm_record *adsm_record_make(const struct adsm_object *object);
void adsm_record_end(struct adsm_record *record);
/* adsmSetName(). */
void adsm_record_name(struct adsm_record *record, const char *name);

/* ---- life */

/* With the options in force, before the devices are opened: 0, or a negative errno and its sentence. */
int adsm_observe_start(void);
/* The library ends, or the process does: what is written is whole. May be called again. */
void adsm_observe_end(void);
/* The process becomes another program; @failed: it has not. Called by the wrappers of exec. */
void adsm_observe_exec(bool failed);
/* Have the helper look at the rings now. Any thread, signal handlers. */
void adsm_observe_poke(void);
/* adsmStatsReset(): what has been counted so far is forgotten. */
void adsm_observe_reset(void);
/* adsm_os_now_ns() at the library's start, and where counting began anew; 0: at the start. */
extern uint64_t adsm_start_ns, adsm_counted_ns;

/* ---- the points. Any thread, the fault handler, with and without the lock. Those with a counter count as well. */

void adsm_observe_transfer(struct adsm_object *object, enum adsm_direction direction, size_t offset, size_t size,
			   uint64_t start_ns, uint64_t ns);
void adsm_observe_opened(struct adsm_object *object, uint32_t first, uint32_t n, bool writing);
void adsm_observe_evicted(struct adsm_object *object, uint32_t first, uint32_t n);
/* @ns: as fault_ns counts it. @n_signals: 0 or 1. */
void adsm_observe_fault(struct adsm_object *object, uintptr_t address, bool write, unsigned n_signals,
			uint32_t ahead, uint64_t start_ns, uint64_t ns);
void adsm_observe_wait(int device, uint64_t start_ns, uint64_t ns);
void adsm_observe_call(int device, const char *kernel, uint64_t seq, uint64_t start_ns, uint64_t ns);
/* Lock held. */
void adsm_observe_kernel(struct adsm_home *home, const struct adsm_call *call, uint64_t ns);
void adsm_observe_io(uint64_t start_ns, uint64_t ns, size_t size);

static inline void adsm_note_transfer(struct adsm_object *object, enum adsm_direction direction, size_t offset,
				      size_t size, uint64_t start_ns, uint64_t ns)
{
	if (direction == ADSM_TO_HOST) {
		adsm_count(&object->counters, d2h_bytes, size);
		adsm_count(&object->counters, d2h_transfers, 1);
		adsm_count(&object->counters, d2h_ns, ns);
	} else {
		adsm_count(&object->counters, h2d_bytes, size);
		adsm_count(&object->counters, h2d_transfers, 1);
		adsm_count(&object->counters, h2d_ns, ns);
	}
	adsm_spend(ns);
	if (adsm_observes(~0u))
		adsm_observe_transfer(object, direction, offset, size, start_ns, ns);
}

static inline void adsm_note_opened(struct adsm_object *object, uint32_t first, uint32_t n, bool writing)
{
	if (writing)
		adsm_count(&object->counters, write_faults, n);
	else
		adsm_count(&object->counters, read_faults, n);
	if (adsm_observes(~0u))
		adsm_observe_opened(object, first, n, writing);
}

static inline void adsm_note_evicted(struct adsm_object *object, uint32_t first, uint32_t n)
{
	adsm_count(&object->counters, evictions, n);
	if (adsm_observes(~0u))
		adsm_observe_evicted(object, first, n);
}

static inline void adsm_note_called(struct adsm_object *object)
{
	if (adsm_observes(~0u) && object->record)
		atomic_fetch_add_explicit(&object->record->calls, 1, memory_order_relaxed);
}

static inline void adsm_note_kernel(struct adsm_home *home, const struct adsm_call *call, uint64_t ns)
{
	adsm_count(NULL, kernel_ns, ns);
	if (adsm_observes(ADSM_OBSERVE_TRACE))
		adsm_observe_kernel(home, call, ns);
}

static inline void adsm_note_call(int device, const char *kernel, uint64_t seq, uint64_t start_ns)
{
	adsm_count(NULL, calls, 1);
	if (adsm_observes(ADSM_OBSERVE_TRACE))
		adsm_observe_call(device, kernel, seq, start_ns, adsm_os_now_ns() - start_ns);
}

static inline void adsm_note_io(uint64_t start_ns, size_t size)
{
	uint64_t ns = adsm_os_now_ns() - start_ns;

	adsm_count(NULL, io_ns, ns);
	if (adsm_observes(ADSM_OBSERVE_TRACE))
		adsm_observe_io(start_ns, ns, size);
}

static inline void adsm_note_wait(int device, uint64_t start_ns)
{
	uint64_t ns = adsm_os_now_ns() - start_ns;

	adsm_count(NULL, wait_ns, ns);
	if (adsm_observes(ADSM_OBSERVE_TRACE))
		adsm_observe_wait(device, start_ns, ns);
}

#endif
