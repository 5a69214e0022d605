/* SPDX-License-Identifier: MIT */
/*
 * observe.h - the points: what the library does, told as it happens to one observer, of which only its start knows more
 * than this table. The counters are always kept, here; while nobody observes, each point costs one load and one branch
 * beside them.
 */
#ifndef ADSM_CORE_OBSERVE_H
#define ADSM_CORE_OBSERVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stats.h"
#include "core/cause.h"
#include "core/object.h"
#include "core/spent.h"
#include "engine/engine.h"

/* Who asks; fixed from the library's start to its end. */
enum { ADSM_OBSERVE_REPORT = 1, ADSM_OBSERVE_TRACE = 2, ADSM_OBSERVE_ADVICE = 4 };

/* A bulk copy or fill; who does its parts, and how, depends on the blocks: copy.c. */
struct adsm_bulk {
	size_t offset, size;		/* in the object */
	bool input;			/* it writes the object */
	bool fill;
	bool strict;			/* it is never left to libc */
	size_t device_min;		/* fewer bytes that are open are not filled by the device */
	size_t step;			/* bytes read at a time */
};

struct adsm_observer {
	/* ---- objects. Ordinary threads, with no lock that is a home's */

	/* An object has been made, before it is known; is freed, after it is forgotten. NULL: it has no record. */
	struct adsm_record *(*made)(struct adsm_object *object);
	void (*freed)(struct adsm_record *record);
	void (*named)(struct adsm_record *record, const char *name);	/* adsmSetName() */
	void (*reset)(void);		/* adsmStatsReset(): what has been counted so far is forgotten */
	/* The process becomes another program; @failed: it has not. By the wrappers of exec, in signal handlers too. */
	void (*exec)(bool failed);

	/* ---- what happens. Any thread, the fault handler, with and without the lock */

	void (*transfer)(struct adsm_object *object, enum adsm_direction direction, size_t offset, size_t size,
			 uint64_t start_ns, uint64_t ns);
	void (*opened)(struct adsm_object *object, uint32_t first, uint32_t n, bool writing);
	void (*evicted)(struct adsm_object *object, uint32_t first, uint32_t n);
	/* A fault is about to be served: what this thread does until it has been is because of that. */
	void (*fault_begins)(const struct adsm_fault *fault);
	/* @ns: as fault_ns counts it. @n_signals: 0 or 1. */
	void (*fault)(struct adsm_object *object, uintptr_t address, bool write, unsigned n_signals, uint32_t ahead,
		      uint64_t start_ns, uint64_t ns);
	void (*wait)(int device, uint64_t start_ns, uint64_t ns);
	/* For a unit of the write-once object at an address. */
	void (*once)(uint64_t address, uint64_t unit, uint64_t start_ns, uint64_t ns);
	void (*call)(int device, const char *kernel, uint64_t seq, uint64_t start_ns, uint64_t ns);
	void (*kernel)(struct adsm_home *home, const struct adsm_call *call, uint64_t ns);	/* lock held */
	void (*called)(struct adsm_object *object);	/* by a kernel, that takes it */
	void (*io)(uint64_t start_ns, uint64_t ns, size_t size);
	/* A place in the program's code in words; NULL: that was the last one. Ordinary threads, no lock held. */
	void (*place)(const void *where, char *ret_text, size_t size);
	/* The code of the program's that has called a wrapper, from @caller, which may be the library's or NULL. */
	const void *(*caller)(const void *caller);

	/* ---- what tells how an object is used. Lock held, in the fault handler too, but for fetches */

	int (*advice_view)(struct adsm_object *object, size_t offset, size_t size, enum adsm_prot view);
	bool (*advice_touch)(struct adsm_object *object, uintptr_t address, bool write);
	int (*advice_hold)(struct adsm_object *object, uint32_t b);
	void (*advice_unhold)(struct adsm_object *object, uint32_t b);
	void (*advice_touched)(void);
	/*
	 * Each access to blocks that changes their state, or may: just before it does. In a fault only the page of that
	 * is used; else all of the run may be, unless a range has said what. Those of a sync are told before, together.
	 */
	void (*advice_access)(struct adsm_object *object, uint32_t first, uint32_t n, enum adsm_block_event event);
	/* Before input (it has come) or output (it will be read) of these bytes. */
	void (*advice_range)(struct adsm_object *object, size_t at, size_t end, bool input);
	/* This thread begins a bulk copy between an object and ordinary memory; ends it. */
	void (*advice_bulk)(struct adsm_object *object, const struct adsm_bulk *bulk);
	void (*advice_bulk_end)(struct adsm_object *object);
	/* The device has written these blocks, for a copy or a fill. */
	void (*advice_device_wrote)(struct adsm_object *object, uint32_t first, uint32_t n);
	/* Something happens to the object that other blocks would do another way: advice is only about right. */
	void (*advice_inexact)(struct adsm_object *object);
	/* A call does this to the object. */
	void (*advice_called)(struct adsm_object *object, enum adsm_block_event event);
	/* A sync is about to fetch what its protocol wants back. */
	void (*advice_synced)(struct adsm_object *object);
	/* Around a fetch, without the lock. The first's result is for the second, unless it is NULL. */
	void *(*advice_before_fetch)(struct adsm_object *object, size_t offset, size_t size);
	void (*advice_after_fetch)(struct adsm_object *object, void *before, size_t offset, size_t size, bool arrived);

	/* ---- habits that may be worth a warning: always, lock held */

	void (*sent_again)(struct adsm_object *object);
	void (*fetched_often)(struct adsm_object *object);
};

/* Both no detour away. The observer is there before anybody asks for anything; NULL before the library's start. */
extern unsigned adsm_observing __attribute__((visibility("hidden")));
extern const struct adsm_observer *adsm_observer __attribute__((visibility("hidden")));

static inline bool adsm_observes(unsigned who)
{
	return __builtin_expect((adsm_observing & who) != 0, 0);
}

/* ---- causes */

static inline void adsm_because(enum adsm_why why, const void *where, const char *name)
{
	if (adsm_observes(~0u))
		adsm_set_cause(why, where, name);
}

/* ---- the points; those with a counter count as well */

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

static inline void adsm_note_called(struct adsm_object *object)
{
	if (adsm_observes(~0u))
		adsm_observer->called(object);
}

static inline void adsm_note_kernel(struct adsm_home *home, const struct adsm_call *call, uint64_t ns)
{
	adsm_count(NULL, kernel_ns, ns);
	if (adsm_observes(ADSM_OBSERVE_REPORT | ADSM_OBSERVE_TRACE))
		adsm_observer->kernel(home, call, ns);
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
		adsm_observer->sent_again(object);
}

static inline void adsm_habit_fetch(struct adsm_object *object, uint64_t size, uint64_t ns)
{
	struct adsm_habits *habits = &object->habits;
	uint64_t n = ++habits->fetches;

	habits->fetched_bytes += size;
	habits->fetch_ns += ns;
	/* Now and then is enough. */
	if (__builtin_expect(n >= ADSM_FETCHES_MIN && !(n & (n - 1)), 0))
		adsm_observer->fetched_often(object);
}

/* ---- objects that are looked at page by page */

static inline bool adsm_is_paged(const struct adsm_object *object)
{
	return adsm_observes(ADSM_OBSERVE_ADVICE) && object->paged;
}

#endif
