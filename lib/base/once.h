/* SPDX-License-Identifier: MIT */
/*
 * once.h - the units of write-once objects, as all processes that share them see them: their flags, and which threads
 * sleep.
 *
 * The flag of a unit is one byte. A thread that finds it not set counts itself in the unit's bucket, in a table that
 * all objects share. Then it looks at the flag again, and sleeps on the bucket's word. A thread that sets the flag then
 * looks whether the bucket counts sleepers. These steps have one order for all processes, so at least one of the two
 * threads sees the other.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adsm_once.h"

#define ADSM_ONCE_BUCKETS 1024
#define ADSM_ONCE_SLOTS 1024		/* waits: further ones are not named */
#define ADSM_ONCE_DEVICES 16
#define ADSM_ONCE_KERNEL 64		/* bytes of a kernel's name */

struct adsm_once_bucket {
	_Alignas(64) _Atomic uint32_t tick;	/* futex: changes when a unit of the bucket is set */
	_Atomic uint32_t sleepers;
	_Atomic uint32_t cpu;		/* processor of the thread that last set a unit with sleepers */
};

/* Which thread waits, and for which unit. */
struct adsm_once_note {
	uint64_t address, unit;		/* of the object; index of the unit */
	uint64_t since_ns;
	uint64_t where;			/* address of the program's code; for a kernel, its block as one number */
	int32_t device;			/* -1: a thread of the program's */
	int32_t thread;
	uint64_t node;			/* of a cluster, counted from 1; 0: the device has no nodes */
	char kernel[ADSM_ONCE_KERNEL];
};

/* In the unit of a note: the thread waits until the unit is not set. */
#define ADSM_ONCE_ROOM (UINT64_C(1) << 63)

#define ADSM_ONCE_WORDS (sizeof(struct adsm_once_note) / sizeof(uint64_t))

struct adsm_once_slot {
	_Atomic uint32_t taken;
	_Atomic uint32_t number;	/* odd: the note is complete */
	_Atomic uint64_t verdict;	/* (number << 32 | errno): the wait of that number must end with that errno */
	_Atomic uint32_t bucket;
	_Atomic uint64_t note[ADSM_ONCE_WORDS];
};

struct adsm_once_table {
	struct adsm_once_bucket buckets[ADSM_ONCE_BUCKETS];
	struct adsm_once_slot slots[ADSM_ONCE_SLOTS];
	_Atomic uint32_t high;		/* no slot from this one on was ever taken */
	_Atomic uint32_t idle;		/* futex: the thread that looks for deadlocks sleeps while it is 1 */
	_Atomic uint32_t running[ADSM_ONCE_DEVICES];	/* threads that run blocks that may wait, or will soon */
	_Atomic uint32_t elsewhere[ADSM_ONCE_DEVICES];	/* the same, in processes that do not have this table */
	_Atomic uint32_t n_listeners;	/* threads that wait for many units: each wake of a bucket wakes them */
	_Atomic uint32_t doorbell;	/* their futex */
	_Atomic uint64_t waits, wait_ns;	/* of waits that have ended */
	_Atomic uint32_t looks;		/* a thread has looked at all blocks that poll, and has woken other threads */
};

/* Of one object; the flags of its units follow. */
struct adsm_once_shared {
	/* a call ended without the units that it was to set: adsm_once_fail(); 0: none */
	_Atomic uint32_t failed;
	_Atomic uint32_t far;		/* other processes may set units, or wait for them: adsm_once_go_far() */
	_Alignas(64) _Atomic uint8_t flags[];	/* ADSM_ONCE_EMPTY, … of adsm_once.h */
};

/* ---- operations on units; @address: the object's */

/* Begin to write a unit. 0, or -EEXIST: it is set. */
int adsm_once_fresh(struct adsm_once_shared *shared, uint64_t unit);
/* Set a unit, and wake all that wait for it. 0; -EEXIST: it was set already; -EINVAL: no thread has begun to write
 * it. */
int adsm_once_set(struct adsm_once_table *table, struct adsm_once_shared *shared, uint64_t address, uint64_t unit);

static inline bool adsm_once_is_set(const struct adsm_once_shared *shared, uint64_t unit)
{
	return atomic_load_explicit(&shared->flags[unit], memory_order_acquire) == ADSM_ONCE_SET;
}

/* Make a set unit empty, and wake all that wait for room in it. 0; -EINVAL: it is not set. */
int adsm_once_empty(struct adsm_once_table *table, struct adsm_once_shared *shared, uint64_t address, uint64_t unit);
/* Wake all that wait for a unit, whose flag was changed in another way. @unit: as in a note. */
void adsm_once_wake_unit(struct adsm_once_table *table, uint64_t address, uint64_t unit);
/* Is a wait over? @unit: of its note. */
static inline bool adsm_once_is_over(const struct adsm_once_shared *shared, uint64_t unit)
{
	return unit & ADSM_ONCE_ROOM ? !adsm_once_is_set(shared, unit & ~ADSM_ONCE_ROOM) :
		adsm_once_is_set(shared, unit);
}

/* Call this before a kernel in another process gets the object: until then only threads of this process sleep and wake
 * others. */
void adsm_once_go_far(struct adsm_once_table *table, struct adsm_once_shared *shared);

/* A call on a device that was to set units of the object has ended with an error. Only the first such error is kept. */
void adsm_once_fail(struct adsm_once_shared *shared, int device, int error);
/* That error, 0 if there is none; *@ret_device: the device. */
int adsm_once_failed(const struct adsm_once_shared *shared, int *ret_device);

/* ---- waiting */

struct adsm_once_wait {
	struct adsm_once_table *table;
	struct adsm_once_shared *shared;
	uint64_t unit, since_ns;
	uint32_t bucket;
	int32_t slot;			/* -1: no slot was free */
	uint32_t number;		/* the slot's */
};

/* Look once, then spin for a moment, unless that was useless in this thread's last wait. Returns whether the wait is
 * over. @unit: of its note. */
bool adsm_once_spin(const struct adsm_once_shared *shared, uint64_t unit);
/* Begin a wait: take a slot and show it. adsm_once_wait_end() ends the wait. Sets note->since_ns. */
void adsm_once_wait_begin(struct adsm_once_wait *wait, struct adsm_once_table *table, struct adsm_once_shared *shared,
			  struct adsm_once_note *note);
/* The two steps of adsm_once_wait_begin(). After the first one other threads do not see the wait yet. A caller that may
 * be left by a jump records, before the second one, what has to be ended. */
void adsm_once_wait_take(struct adsm_once_wait *wait, struct adsm_once_table *table, struct adsm_once_shared *shared,
			 struct adsm_once_note *note);
void adsm_once_wait_show(struct adsm_once_wait *wait);
void adsm_once_wait_end(const struct adsm_once_wait *wait);
/*
 * One round of a wait. Returns:
 * - 0: the wait is over
 * - an error: the one of adsm_once_failed(), or the verdict's
 * - -EAGAIN: not set yet; it has slept, or a signal came
 */
int adsm_once_wait_once(const struct adsm_once_wait *wait,
			int (*sleep)(_Atomic uint32_t *word, uint32_t value, bool far));
/* The usual @sleep of adsm_once_wait_once(). */
int adsm_once_sleep(_Atomic uint32_t *word, uint32_t value, bool far);

/* ---- for threads that look at waits */

/* Sleep until a thread begins to wait, or adsm_once_rouse(); does not sleep if @busy returns true. @busy looks for
 * waits: a thread that begins to wait afterwards sees the sleeper and rouses it. */
void adsm_once_idle(struct adsm_once_table *table, bool (*busy)(void));
void adsm_once_rouse(struct adsm_once_table *table);

/* The note of a slot; false: no thread waits there. */
bool adsm_once_note_read(struct adsm_once_table *table, uint32_t slot, struct adsm_once_note *ret_note);
/* The same, but false also if it is still the wait of number *@number. *@number becomes the wait's number. */
bool adsm_once_note_new(struct adsm_once_table *table, uint32_t slot, uint32_t *number,
			struct adsm_once_note *ret_note);
/* Has the wait of a slot got a verdict that it has not seen yet? */
bool adsm_once_is_judged(struct adsm_once_table *table, uint32_t slot);
/* The verdict on a wait: if the slot still has this note, the wait ends with this errno. */
void adsm_once_judge(struct adsm_once_table *table, uint32_t slot, const struct adsm_once_note *note, int error);
/* All waits look again. */
void adsm_once_wake_all(struct adsm_once_table *table);
/* End the waits of a device whose process has ended. */
void adsm_once_forget(struct adsm_once_table *table, int device);
