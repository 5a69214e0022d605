/* SPDX-License-Identifier: MIT */
/*
 * once.h - the units of write-once objects, as all processes see them that share them: flags, and who sleeps.
 *
 * A unit's flag is one byte. Who finds it not set counts itself into the bucket of the unit, in a table that all
 * objects share, looks again, and sleeps on the bucket's word; who sets it looks there whether anybody sleeps. Each
 * does its first step before its second in one order of all processes, so one of them sees the other.
 */
#ifndef ADSM_BASE_ONCE_H
#define ADSM_BASE_ONCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adsm_once.h"

#define ADSM_ONCE_BUCKETS 1024
#define ADSM_ONCE_SLOTS 1024		/* those who wait beyond are not named */
#define ADSM_ONCE_DEVICES 16
#define ADSM_ONCE_KERNEL 64		/* bytes of a kernel's name */

struct adsm_once_bucket {
	_Alignas(64) _Atomic uint32_t tick;	/* futex: changes when a unit of the bucket is set */
	_Atomic uint32_t sleepers;
	_Atomic uint32_t cpu;		/* where who set the last unit that somebody slept for has run */
};

/* Who waits, for what. */
struct adsm_once_note {
	uint64_t address, unit;		/* of the object; which unit */
	uint64_t since_ns;
	uint64_t where;			/* code of the program's; a kernel: its block, linear */
	int32_t device;			/* -1: a thread of the program's */
	int32_t thread;
	uint64_t node;			/* of a device that is several, counted from 1; 0: it is one */
	char kernel[ADSM_ONCE_KERNEL];
};

#define ADSM_ONCE_WORDS (sizeof(struct adsm_once_note) / sizeof(uint64_t))

struct adsm_once_slot {
	_Atomic uint32_t taken;
	_Atomic uint32_t number;	/* odd: the note is whole */
	_Atomic uint64_t verdict;	/* of the wait of that number: it is to end with this errno; both in one */
	_Atomic uint32_t bucket;
	_Atomic uint64_t note[ADSM_ONCE_WORDS];
};

struct adsm_once_table {
	struct adsm_once_bucket buckets[ADSM_ONCE_BUCKETS];
	struct adsm_once_slot slots[ADSM_ONCE_SLOTS];
	_Atomic uint32_t high;		/* no slot from here on was ever taken */
	_Atomic uint32_t idle;		/* futex: who looks for deadlocks sleeps while it is 1 */
	_Atomic uint32_t running[ADSM_ONCE_DEVICES];	/* threads that run blocks which may wait, or are about to */
	_Atomic uint32_t elsewhere[ADSM_ONCE_DEVICES];	/* the same, of processes that do not have this table */
	_Atomic uint32_t n_listeners;	/* who waits for many units at once: a wake of any bucket wakes them */
	_Atomic uint32_t rung;		/* their futex */
	_Atomic uint64_t waits, wait_ns;	/* that have ended */
};

/* Of an object; the units' flags are behind it. */
struct adsm_once_shared {
	_Atomic uint32_t failed;	/* a call that was to set units has ended without: adsm_once_fail(); 0: none */
	_Atomic uint32_t far;		/* other processes set units, or wait for them: adsm_once_go_far() */
	_Alignas(64) _Atomic uint8_t flags[];	/* ADSM_ONCE_EMPTY, … of adsm_once.h */
};

/* ---- verbs; @address: the object's */

/* 0; -EEXIST: it is set. */
int adsm_once_fresh(struct adsm_once_shared *shared, uint64_t unit);
/* 0; -EEXIST: it was set; -EINVAL: nobody has begun to write it. Wakes all who wait for it. */
int adsm_once_set(struct adsm_once_table *table, struct adsm_once_shared *shared, uint64_t address, uint64_t unit);

static inline bool adsm_once_is_set(const struct adsm_once_shared *shared, uint64_t unit)
{
	return atomic_load_explicit(&shared->flags[unit], memory_order_acquire) == ADSM_ONCE_SET;
}

/* Before a kernel of another process has the object: until then its sleepers and who wakes them are of this one. */
void adsm_once_go_far(struct adsm_once_table *table, struct adsm_once_shared *shared);

/* A call on a device that was to set units of the object has ended with an error: the first one counts. */
void adsm_once_fail(struct adsm_once_shared *shared, int device, int error);
/* The error, 0 for none; and the device. */
int adsm_once_failed(const struct adsm_once_shared *shared, int *ret_device);

/* ---- waiting */

struct adsm_once_wait {
	struct adsm_once_table *table;
	struct adsm_once_shared *shared;
	uint64_t unit, since_ns;
	uint32_t bucket;
	int32_t slot;			/* -1: none was free */
	uint32_t number;		/* the slot's */
};

/* Awake for a moment, where that is not always in vain: is it set by then? */
bool adsm_once_spin(const struct adsm_once_shared *shared, uint64_t unit);
/* Both, to be ended by the last; since_ns of the note is set here. */
void adsm_once_wait_begin(struct adsm_once_wait *wait, struct adsm_once_table *table, struct adsm_once_shared *shared,
			  struct adsm_once_note *note);
/* Not seen by others yet: who may be left by a jump first notes what there is to be ended. */
void adsm_once_wait_take(struct adsm_once_wait *wait, struct adsm_once_table *table, struct adsm_once_shared *shared,
			 struct adsm_once_note *note);
void adsm_once_wait_show(struct adsm_once_wait *wait);
void adsm_once_wait_end(const struct adsm_once_wait *wait);
/*
 * 0: the unit is set; what a call that was to set units has failed with; the verdict's errno; -EAGAIN: not yet, after
 * it slept, or a signal came.
 */
int adsm_once_wait_once(const struct adsm_once_wait *wait,
			int (*sleep)(_Atomic uint32_t *word, uint32_t value, bool far));
/* A sleep as the above wants it. */
int adsm_once_sleep(_Atomic uint32_t *word, uint32_t value, bool far);

/* ---- looking on */

/*
 * Who looks on: sleep until somebody begins to wait, or is roused, unless there is something to do. @busy looks: who
 * begins to wait next sees the sleeper, or is seen.
 */
void adsm_once_idle(struct adsm_once_table *table, bool (*busy)(void));
void adsm_once_rouse(struct adsm_once_table *table);

/* The note of a slot; false: nobody waits there. */
bool adsm_once_note_read(struct adsm_once_table *table, uint32_t slot, struct adsm_once_note *ret_note);
/* The same where the wait is another one than that of *@number, which becomes its number. */
bool adsm_once_note_new(struct adsm_once_table *table, uint32_t slot, uint32_t *number,
			struct adsm_once_note *ret_note);
/* Is the wait of a slot to end by a verdict, which it has not seen yet? */
bool adsm_once_is_judged(struct adsm_once_table *table, uint32_t slot);
/* The same wait is to end with this errno. */
void adsm_once_judge(struct adsm_once_table *table, uint32_t slot, const struct adsm_once_note *note, int error);
/* Everybody looks again. */
void adsm_once_wake_all(struct adsm_once_table *table);
/* Those of a process that has ended do not wait any longer. */
void adsm_once_forget(struct adsm_once_table *table, int device);

#endif
