/* SPDX-License-Identifier: MIT */
/*
 * observe.h - the points. At each point the library counts an event and reports it to the observer, if there is one.
 *
 * The observer is a table of functions, struct adsm_observer. lib/observe fills the table. Core and run know nothing
 * else of the observer. The points always update the counters. While the program has not asked to be observed, a point
 * costs one load and one branch more than its counter.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stats.h"
#include "core/cause.h"
#include "core/object.h"
#include "core/spent.h"
#include "engine/engine.h"

/* What the program has asked for. The bits of adsm_observing do not change from the library's start to its stop. */
enum {
	ADSM_OBSERVE_REPORT = 1, ADSM_OBSERVE_TRACE = 2, ADSM_OBSERVE_ADVICE = 4, ADSM_OBSERVE_RECORD = 8,
	ADSM_OBSERVE_PAGES = ADSM_OBSERVE_ADVICE | ADSM_OBSERVE_RECORD	/* each page that the CPU uses */
};

/* A bulk copy or fill. The blocks decide whether the device, the CPU or libc does each part (run/copy/copy.c). */
struct adsm_bulk {
	size_t offset, size;		/* in the object */
	bool input;			/* the copy writes the object */
	bool fill;
	bool strict;			/* the library never leaves the copy to libc */
	size_t device_min;		/* the device does not fill open blocks of fewer bytes than this */
	size_t step;			/* bytes read at a time */
};

/* A kernel that has ended. */
struct adsm_kernel_run {
	uint64_t seq;			/* of its call */
	const char *kernel;		/* its name */
	struct adsm_device_event event;
	uint64_t given_ns;		/* when the device was given it; 0: not observed */
	uint64_t ns;			/* how long it ran */
	unsigned lane;
};

/*
 * Acts: how an object is used. Advice repeats them on simulated objects, and recordings contain them. @at and @end are
 * bytes of the object.
 */
enum adsm_act_kind {
	/* An access is about to change the state of blocks, or may do so. In a fault the CPU uses only the faulting
	 * page. Otherwise it may use all of the bytes, unless a RANGE has named them. */
	ADSM_ACT_ACCESS,
	ADSM_ACT_INPUT, ADSM_ACT_OUTPUT,	/* input has written the bytes, or output will read them; comes first */
	ADSM_ACT_BULK, ADSM_ACT_BULK_END,	/* this thread begins, ends a bulk copy with ordinary memory */
	ADSM_ACT_DEVICE_WROTE,		/* the device has written the bytes, whole blocks, in a copy or a fill */
	ADSM_ACT_INEXACT,		/* a use that depends on the blocks: other settings are only approximate */
	ADSM_ACT_CALLED,		/* a call, number @end, uses the object */
	ADSM_ACT_SYNCED,		/* a sync is about to fetch the blocks that the protocol chooses */
	ADSM_ACT_ASSIGNED,		/* @at: 1: unnamed calls no longer use the object; 0: they do again */
	/* Acts on all objects of a home. @end: a call's number. */
	ADSM_ACT_CALLED_ALL,		/* an unnamed call; CALLED came before for the objects that are open */
	/* A sync: all calls up to @at have ended. @end: only objects whose last call this is; 0: all objects. */
	ADSM_ACT_SYNC,
	ADSM_N_ACTS
};

struct adsm_act {
	enum adsm_act_kind kind;
	enum adsm_block_event event;	/* of ACCESS and CALLED */
	struct adsm_home *home;
	struct adsm_object *object;	/* NULL: all objects of the home */
	uint64_t at, end;
	const struct adsm_bulk *bulk;
};

#define ADSM_MOVED_TO_HOST (-1)

enum adsm_habit { ADSM_HABIT_SENT_AGAIN, ADSM_HABIT_FETCHED_OFTEN };

struct adsm_observer {
	/* ---- objects. Called in ordinary code, without the lock of a home */

	/* An object was made, before other threads know it. Returns its record; NULL: the object has no record. */
	struct adsm_record *(*made)(struct adsm_object *object);
	/* The object of a record was freed. No other thread knows it any more. */
	void (*freed)(struct adsm_record *record);
	void (*named)(struct adsm_record *record, const char *name);	/* adsmSetName() */
	void (*reset)(void);		/* adsmStatsReset(): forget all counts */
	/* The process is about to run another program; @failed: exec failed. The wrappers of exec call this, also in
	 * signal handlers. */
	void (*exec)(bool failed);

	/* ---- events. Called in any thread and in the fault handler, with and without the home's lock */

	/* Bytes have moved. @offset, @size: bytes in the object. @start_ns, @ns: when and how long. */
	void (*transfer)(struct adsm_object *object, enum adsm_direction direction, size_t offset, size_t size,
			 uint64_t start_ns, uint64_t ns);
	/* @n blocks from @first on were opened; @writing: for writing. */
	void (*opened)(struct adsm_object *object, uint32_t first, uint32_t n, bool writing);
	/* @n blocks from @first on were sent early. */
	void (*evicted)(struct adsm_object *object, uint32_t first, uint32_t n);
	/*
	 * An object was moved to another device, or displaced: moved to the host, for room on its device. Called under
	 * the home's lock.
	 *
	 * @from, @to: the devices; @to: ADSM_MOVED_TO_HOST: it was displaced.
	 * @whole: false: this ended early; the object stays, and some of its bytes were fetched.
	 * @fetched: bytes.
	 */
	void (*moved)(struct adsm_object *object, int from, int to, bool whole, size_t fetched, uint64_t start_ns);
	/* The handler begins to serve a fault. Until fault(), the fault is the cause of this thread's transfers. */
	void (*fault_begins)(const struct adsm_fault *fault);
	/* A fault was handled. @n_signals: 0 or 1. @ahead: blocks opened by fault-ahead. @ns: as fault_ns counts it. */
	void (*fault)(struct adsm_object *object, uintptr_t address, bool write, unsigned n_signals, uint32_t ahead,
		      uint64_t start_ns, uint64_t ns);
	/* A thread has waited for a call. */
	void (*wait)(int device, uint64_t start_ns, uint64_t ns);
	/* A thread has waited for a unit of the write-once object at @address. */
	void (*once)(uint64_t address, uint64_t unit, uint64_t start_ns, uint64_t ns);
	/* A thread has made a call. @seq: the call's number. */
	void (*call)(int device, const char *kernel, uint64_t seq, uint64_t start_ns, uint64_t ns);
	/* A call has ended. The caller holds the lock. */
	void (*kernel)(struct adsm_home *home, const struct adsm_kernel_run *run);
	/* A call takes the object. */
	void (*called)(struct adsm_object *object);
	/* A wrapped system call has moved @size bytes. */
	void (*io)(uint64_t start_ns, uint64_t ns, size_t size);
	/*
	 * Describe a place in the program's code. Called in ordinary code without a lock.
	 *
	 * @where: the code address; NULL: the caller needs no further descriptions.
	 * @ret_text, @size: room for the text, in bytes.
	 */
	void (*place)(const void *where, char *ret_text, size_t size);
	/* Return the program's code that called a wrapper. @caller: an address that may be the library's, or NULL. */
	const void *(*caller)(const void *caller);

	/* ---- advice: how an object is used. Lock held, except around fetches. Also in the fault handler */

	/* Set the view of a range of a paged object. */
	int (*advice_view)(struct adsm_object *object, size_t offset, size_t size, enum adsm_prot view);
	/* A touch faulted. Returns true if its block was open, and opening the page too has served the fault. */
	bool (*advice_touch)(struct adsm_object *object, uintptr_t address, bool write);
	/* A hold of block @b begins, or ends. The result of the end is 0. */
	int (*advice_hold)(struct adsm_object *object, uint32_t b, bool begins);
	void (*advice_act)(const struct adsm_act *act);
	/* Called before and after a fetch, without the lock. Before: returns what the call after gets as @before.
	 * @arrived: 1, 0: the fetch has succeeded, failed; -1: it is about to begin. */
	void *(*advice_fetch)(struct adsm_object *object, void *before, size_t offset, size_t size, int arrived);

	/* An object has a habit that may deserve a warning. Called even if adsm_observing is 0. Lock held. */
	void (*habit)(struct adsm_object *object, enum adsm_habit habit);
};

/* Hidden, so that a point reads each with one load. adsm_observer is NULL before the library's start, and set before
 * adsm_observing has a bit. */
extern unsigned adsm_observing __attribute__((visibility("hidden")));
extern const struct adsm_observer *adsm_observer __attribute__((visibility("hidden")));

static inline bool adsm_observes(unsigned who)
{
	return __builtin_expect((adsm_observing & who) != 0, 0);
}

/* ---- causes of transfers */

static inline void adsm_because(enum adsm_why why, const void *where, const char *name)
{
	if (adsm_observes(~0u))
		adsm_set_cause(why, where, name);
}

/* ---- the points; most also update counters */

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
		adsm_observer->transfer(object, direction, offset, size, start_ns, ns);
}

static inline void adsm_note_opened(struct adsm_object *object, uint32_t first, uint32_t n, bool writing)
{
	if (writing)
		adsm_count(&object->counters, write_faults, n);
	else
		adsm_count(&object->counters, read_faults, n);
	if (adsm_observes(~0u))
		adsm_observer->opened(object, first, n, writing);
}

static inline void adsm_note_evicted(struct adsm_object *object, uint32_t first, uint32_t n)
{
	adsm_count(&object->counters, evictions, n);
	if (adsm_observes(~0u))
		adsm_observer->evicted(object, first, n);
}

static inline void adsm_note_displaced(struct adsm_object *object, bool whole, size_t fetched, uint64_t start_ns)
{
	adsm_count(&object->counters, displaced, whole);
	adsm_count(&object->counters, displaced_bytes, fetched);
	if (adsm_observes(ADSM_OBSERVE_TRACE) && (whole || fetched))
		adsm_observer->moved(object, object->home->index, ADSM_MOVED_TO_HOST, whole, fetched, start_ns);
}

static inline void adsm_note_moved(struct adsm_object *object, int from, int to, bool whole, size_t fetched,
				   uint64_t start_ns)
{
	adsm_count(&object->counters, moved, whole);
	adsm_count(&object->counters, moved_bytes, fetched);
	if (adsm_observes(ADSM_OBSERVE_TRACE) && (whole || fetched))
		adsm_observer->moved(object, from, to, whole, fetched, start_ns);
}

static inline void adsm_note_called(struct adsm_object *object)
{
	if (adsm_observes(~0u))
		adsm_observer->called(object);
}

static inline void adsm_note_kernel(struct adsm_home *home, const struct adsm_kernel_run *run)
{
	adsm_count(NULL, kernel_ns, run->ns);
	if (adsm_observes(ADSM_OBSERVE_REPORT | ADSM_OBSERVE_TRACE))
		adsm_observer->kernel(home, run);
}

static inline void adsm_note_call(int device, const char *kernel, uint64_t seq, uint64_t start_ns)
{
	adsm_count(NULL, calls, 1);
	if (adsm_observes(ADSM_OBSERVE_TRACE))
		adsm_observer->call(device, kernel, seq, start_ns, adsm_os_now_ns() - start_ns);
}

static inline void adsm_note_io(uint64_t start_ns, size_t size)
{
	uint64_t ns = adsm_os_now_ns() - start_ns;

	adsm_count(NULL, io_ns, ns);
	if (adsm_observes(ADSM_OBSERVE_TRACE))
		adsm_observer->io(start_ns, ns, size);
}

static inline void adsm_note_wait(int device, uint64_t start_ns)
{
	uint64_t ns = adsm_os_now_ns() - start_ns;

	adsm_count(NULL, wait_ns, ns);
	if (adsm_observes(ADSM_OBSERVE_TRACE))
		adsm_observer->wait(device, start_ns, ns);
}

static inline void adsm_note_once(uint64_t address, uint64_t unit, uint64_t start_ns)
{
	uint64_t ns = adsm_os_now_ns() - start_ns;

	adsm_count(NULL, once_waits, 1);
	adsm_count(NULL, once_ns, ns);
	if (adsm_observes(ADSM_OBSERVE_TRACE))
		adsm_observer->once(address, unit, start_ns, ns);
}

static inline struct adsm_record *adsm_record_make(struct adsm_object *object)
{
	return adsm_observes(~0u) ? adsm_observer->made(object) : NULL;
}

static inline void adsm_record_end(struct adsm_record *record)
{
	if (record)
		adsm_observer->freed(record);
}

static inline void adsm_record_name(struct adsm_record *record, const char *name)
{
	if (record)
		adsm_observer->named(record, name);
}

static inline void adsm_observe_reset(void)
{
	if (adsm_observes(~0u))
		adsm_observer->reset();
}

static inline void adsm_observe_exec(bool failed)
{
	if (adsm_observes(~0u))
		adsm_observer->exec(failed);
}

/* ---- habits */

#define ADSM_AGAIN_MIN 256
#define ADSM_FETCHES_MIN 64

static inline void adsm_habit_again(struct adsm_object *object, uint32_t n)
{
	struct adsm_habits *habits = &object->habits;

	habits->again += n;
	if (__builtin_expect(habits->again >= ADSM_AGAIN_MIN && !habits->told_again, 0))
		adsm_observer->habit(object, ADSM_HABIT_SENT_AGAIN);
}

static inline void adsm_habit_fetch(struct adsm_object *object, uint64_t size, uint64_t ns)
{
	struct adsm_habits *habits = &object->habits;
	uint64_t n = ++habits->fetches;

	habits->fetched_bytes += size;
	habits->fetch_ns += ns;
	/* Not at each fetch: only if their number is a power of two. */
	if (__builtin_expect(n >= ADSM_FETCHES_MIN && !(n & (n - 1)), 0))
		adsm_observer->habit(object, ADSM_HABIT_FETCHED_OFTEN);
}

/* ---- objects whose views open page by page, for advice and recordings */

static inline bool adsm_is_paged(const struct adsm_object *object)
{
	return adsm_observes(ADSM_OBSERVE_PAGES) && object->paged;
}

static inline void adsm_act(struct adsm_object *object, enum adsm_act_kind kind, enum adsm_block_event event,
			    size_t at, size_t end)
{
	if (adsm_is_paged(object))
		adsm_observer->advice_act(&(struct adsm_act){
			.kind = kind, .event = event, .home = object->home, .object = object, .at = at, .end = end,
		});
}

/* The same for whole blocks. */
static inline void adsm_act_on_blocks(struct adsm_object *object, enum adsm_act_kind kind,
				      enum adsm_block_event event, uint32_t first, uint32_t n)
{
	size_t start = (size_t)first << object->blocks.shift;

	adsm_act(object, kind, event, start, start + adsm_run_size(object, first, n));
}

static inline void adsm_act_inexact(struct adsm_object *object)
{
	adsm_act(object, ADSM_ACT_INEXACT, ADSM_EVENT_NONE, 0, 0);
}

/* An act on all objects of a home. */
static inline void adsm_act_on_all(struct adsm_home *home, enum adsm_act_kind kind, uint64_t at, uint64_t end)
{
	if (adsm_observes(ADSM_OBSERVE_PAGES))
		adsm_observer->advice_act(&(struct adsm_act){ .kind = kind, .home = home, .at = at, .end = end });
}
