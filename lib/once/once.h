/* SPDX-License-Identifier: MIT */
/*
 * once.h - write-once objects, found by an address.
 *
 * Their bytes lie in files of their own, one for each place that a distribution names. Each is mapped three times: as
 * the view, in the arena's range, which is closed and opens for reading page by page; for readers, who come by way of
 * the verbs; and for writers. No block, no state but the units' flags, which are in memory that devices share.
 */
#ifndef ADSM_ONCE_OBJECT_H
#define ADSM_ONCE_OBJECT_H

#include "adsm_once.h"
#include "base/once.h"
#include "core/object.h"

#define ADSM_ONCE_RUNS_MAX 4096		/* changes of place in an object: each is a mapping of the system's, or three */

/* Consecutive pages that are in one place. */
struct adsm_once_run {
	size_t first_page, n_pages;
	size_t offset;			/* bytes, in the file of the place */
	int device;			/* ADSM_ONCE_ON_HOST */
};

struct adsm_once_object {
	struct adsm_object stand_in;	/* what the index has; its start and span are the view's */
	adsmOnce handle;		/* what the program has; it may have copies */
	_Atomic bool live;
	const struct adsm_engine *engine;	/* the view's */
	struct adsm_once_shared *shared;
	size_t shared_size;		/* bytes, in whole pages */
	struct adsm_once_run *runs;
	size_t n_runs;
	unsigned placed;		/* the places there are, by bits: bit 0 the host's, then the devices' */
	_Atomic bool closing;		/* it is about to be freed: no more calls */
	_Atomic uint32_t users;		/* calls that are being entered */
	/* The last call of each home that was given it, and that may set units of it; 0: none. */
	_Atomic uint64_t use_seq[ADSM_MAX_DEVICES], write_seq[ADSM_MAX_DEVICES];
	_Atomic(struct adsm_once_object *) next;	/* of those alive, or of those free */
};

/* The table that all objects share; NULL: there has been none since the library started. */
extern _Atomic(struct adsm_once_table *) adsm_once_table;

/* While it is held no object is made, and none ends. */
extern struct adsm_mutex adsm_once_mutex;

/*
 * How many calls by ranges (run/later.h) go on by themselves, and may set units; and for each device, how many wait for
 * it.
 */
extern _Atomic uint32_t adsm_once_busy, adsm_once_in_calls[ADSM_MAX_DEVICES];

/* Those alive; as it is read without a lock, others too. */
extern _Atomic(struct adsm_once_object *) adsm_once_objects;

/* The object of a handle, or of a copy of one; NULL, and the sentence is set: -EINVAL. */
struct adsm_once_object *adsm_once_of(const adsmOnce *once);
/* For a call: the object of its address, which stays until it is given back. NULL: there is none. */
struct adsm_once_object *adsm_once_take(uintptr_t address);
static inline void adsm_once_give(struct adsm_once_object *object)
{
	atomic_fetch_sub(&object->users, 1);
}

/* In the child of a fork: what is the parent's stays closed; flags say that nothing is set, so that verbs are told. */
void adsm_once_child(void);

/* The object whose view has an address; NULL: none's has. */
static inline struct adsm_once_object *adsm_once_at(uintptr_t address)			/* [signal] */
{
	struct adsm_object *object = adsm_index_find(address);

	return object && object->once ? (struct adsm_once_object *)object : NULL;
}

/* The same of an address in what readers have; slow. */
struct adsm_once_object *adsm_once_of_reader(uintptr_t address);			/* [signal] */

/* What the byte at @offset belongs to. */
static inline size_t adsm_once_unit_at(const struct adsm_once_object *object, size_t offset)
{
	return offset / object->handle.size;
}

#endif
