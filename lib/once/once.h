/* SPDX-License-Identifier: MIT */
/*
 * once.h - write-once objects, found by an address.
 *
 * Their bytes lie in files, one for each place that the distribution names. Each file is mapped three times: as the
 * view, in the arena's range, closed at first and opened for reading page by page; for readers that use adsmOnceGet();
 * and for writers. There are no blocks, and no states except the flags of the units, in memory that devices share.
 */
#pragma once

#include "adsm_once.h"
#include "base/once.h"
#include "core/object.h"

#define ADSM_ONCE_RUNS_MAX 4096		/* runs of one object; each takes up to three mappings of the process */

/* Consecutive pages in one place. */
struct adsm_once_run {
	size_t first_page, n_pages;
	size_t offset;			/* bytes, in the place's file */
	int device;			/* or ADSM_ONCE_ON_HOST */
};

struct adsm_once_object {
	struct adsm_object stand_in;	/* the object in the index; its start and span are the view's */
	adsmOnce handle;		/* the program's handle; the program may have copies of it */
	_Atomic bool live;
	uint64_t since_ns;		/* when it was made */
	const struct adsm_engine *engine;	/* the view's */
	struct adsm_once_shared *shared;
	size_t shared_size;		/* bytes, in whole pages */
	struct adsm_once_run *runs;
	size_t n_runs;
	unsigned placed;		/* the places with memory, by bits: bit 0
					   is the host, the next ones are devices */
	_Atomic bool opened;		/* pages of the view were opened, perhaps */
	_Atomic bool emptied;		/* units were emptied, perhaps */
	_Atomic bool closing;		/* it is about to be freed: no call may take it */
	_Atomic uint32_t users;		/* calls that are being entered */
	/* For each home the last call that has the object, and the last one that may set units of it; 0: none. */
	_Atomic uint64_t use_seq[ADSM_MAX_DEVICES], write_seq[ADSM_MAX_DEVICES];
	_Atomic(struct adsm_once_object *) next;	/* of live objects, or of free ones */
};

/* The table that all objects share; NULL: no object was made since the library started. */
extern _Atomic(struct adsm_once_table *) adsm_once_table;

/* While it is held, no object is made or freed. */
extern struct adsm_mutex adsm_once_mutex;

/* The number of calls by ranges (run/call/dataflow.h) that proceed by themselves and may set units; and for each
 * device, the number of those that wait for it. */
extern _Atomic uint32_t adsm_once_busy, adsm_once_in_calls[ADSM_MAX_DEVICES];

/* The live objects. A reader without a lock may also find others. */
extern _Atomic(struct adsm_once_object *) adsm_once_objects;

/* The object of a handle, or of a copy of one. NULL: there is none, and the error text is set (-EINVAL). */
struct adsm_once_object *adsm_once_of(const adsmOnce *once);
/* For a call: get the object at an address, with a reference that adsm_once_give() drops. NULL: there is none. */
struct adsm_once_object *adsm_once_take(uintptr_t address);
static inline void adsm_once_give(struct adsm_once_object *object)
{
	atomic_fetch_sub(&object->users, 1);
}

/* In the child of a fork: the parent's memory is closed, and the flags say that no unit is set, so that each access
 * calls the library, which returns an error. */
void adsm_once_child(void);

/* The object whose view contains an address; NULL: there is none. */
static inline struct adsm_once_object *adsm_once_at(uintptr_t address)			/* [signal] */
{
	struct adsm_object *object = adsm_index_find(address);

	return object && object->once ? (struct adsm_once_object *)object : NULL;
}

/*
 * The object that a wait is for; NULL: the wait is over, or the object was freed. A thread may leave a wait, and the
 * library does not see it. The note stays, and may be older than the object at its address. adsm_once_mutex is held.
 */
static inline struct adsm_once_object *adsm_once_awaited(const struct adsm_once_note *note)
{
	struct adsm_once_object *object = adsm_once_at(note->address);

	return object && note->since_ns >= object->since_ns && !adsm_once_is_over(object->shared, note->unit) ? object :
		NULL;
}

/* The object whose readers' mapping contains an address. This is slow. */
struct adsm_once_object *adsm_once_of_reader(uintptr_t address);			/* [signal] */

/* The unit of the byte at @offset. */
static inline size_t adsm_once_unit_at(const struct adsm_once_object *object, size_t offset)
{
	return offset / object->handle.size;
}
