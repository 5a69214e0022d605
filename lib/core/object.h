/* SPDX-License-Identifier: MIT */
/* object.h - objects: runs of blocks with one home device at a time. */
#pragma once

#include "base/stats.h"
#include "core/blocks.h"
#include "core/home.h"
#include "core/index.h"

/* Counts, since an object was made, of behaviour that may be worth a warning. */
struct adsm_habits {
	uint64_t early, again;		/* blocks sent early; of these, written again before a call took them */
	uint64_t fetches, fetched_bytes, fetch_ns;
	bool told_again, told_fetches;	/* these warnings have been logged */
};

struct adsm_engine;
struct adsm_hold;
struct adsm_input;
struct adsm_record;

struct adsm_object {
	/* Slots are never freed, so a stale pointer can be read; the fields are valid while live. */
	struct adsm_home *home;		/* without its lock: adsm_object_home() */
	bool live;
	bool moving;			/* it has left one home, and has not arrived at the next one */
	bool freeing;
	bool device_only;		/* adsmDeviceAlloc(): an address and memory, no view, no blocks */
	bool adopted;			/* the program's own memory: driver.h */
	bool assigned;			/* only the kernels that it was assigned to use it */
	bool open;			/* in home->open */
	bool paged;			/* its view is opened page by page, so that advice sees each use */
	/* stands for a write-once object in the index: never live; lib/once has the object */
	bool once;
	bool lent;			/* the system may still have pages of it in a pipe or in the network */
	/* if the driver dictates the address: its place is a part of a chunk (place.c) */
	bool chunked;
	/* its device memory stays until it is freed: resident.h */
	_Atomic bool pinned;
	bool stays;			/* the same until a call that is split has ended (run/call/split.c) */
	bool fixed;			/* a variable of a module: its home never changes */
	bool placing;			/* a thread is taking or freeing its device memory */
	bool parked;			/* its policy is one of home->residents.parked */
	uintptr_t start;
	size_t size;			/* bytes that the caller asked for */
	size_t span;			/* size, rounded up to whole pages */
	char *alias;
	const struct adsm_engine *engine;	/* the engine of its view; NULL: it has no view */
	_Atomic uint8_t *_Atomic limits;	/* what the program permits of each page (limits.h); NULL: everything */
	_Atomic bool locked;		/* the program has locked some of its memory, by mlock() */
	struct adsm_blocks blocks;
	struct adsm_memory *memory;	/* NULL: the device has no memory of it now */
	uint64_t round;			/* the last value of home->residents.round where a call used it */
	uint64_t generation;		/* a different number for each object in this slot */
	/* Changes, and is never 0, when the device's bytes may change, except by unnamed calls while the views are
	 * closed (replica.h). */
	uint64_t version;
	uint64_t born_seq;		/* calls up to this number cannot use it */
	uint64_t use_seq[ADSM_LANES_MAX];	/* in each lane, the last named call that uses it */
	uint64_t write_seq;		/* the last named call that may write it */
	/* the last call whose arguments let it write the object, also with ADSM_PAPER=1 */
	uint64_t stored_seq;
	struct adsm_object *open_prev, *open_next;
	struct adsm_object *next_free;
	struct adsm_hold *holds;
	struct adsm_input *inputs;	/* in progress */
	uint32_t last_input;		/* the number of the latest input */
	struct adsm_counters counters;
	struct adsm_habits habits;
	char name[ADSM_NAME_SIZE];
	struct adsm_record *record;	/* while an observer is active (observe.h); NULL: none */
};

/* An object in a message: "the object at 0x7e8000000000", or "the object 'name' at 0x7e8000000000". */
struct adsm_object_text {
	char text[ADSM_NAME_SIZE + 48];
};

struct adsm_object_text adsm_object_text(const struct adsm_object *object);
#define ADSM_THE_OBJECT(object) adsm_object_text(object).text

static inline size_t adsm_block_size(const struct adsm_object *object)
{
	return (size_t)1 << object->blocks.shift;
}

/* The object that a block belongs to. */
static inline struct adsm_object *adsm_object_of(const struct adsm_block *block)
{
	return (struct adsm_object *)((char *)block->owner - offsetof(struct adsm_object, blocks));
}

/* Bytes of a run, without the part of the last page that the caller did not ask for. */
static inline size_t adsm_run_size(const struct adsm_object *object, uint32_t first, uint32_t n)
{
	return adsm_blocks_size(&object->blocks, first, n);
}

/* The same in whole pages. */
static inline size_t adsm_run_span(const struct adsm_object *object, uint32_t first, uint32_t n)
{
	size_t start = (size_t)first << object->blocks.shift;
	size_t size = (size_t)n << object->blocks.shift;

	return size < object->span - start ? size : object->span - start;
}

/* The last unnamed call that may use the object, or 0. */
static inline uint64_t adsm_object_unnamed(const struct adsm_object *object)
{
	uint64_t unnamed = object->assigned ? 0 : object->home->unnamed_seq;

	return unnamed > object->born_seq ? unnamed : 0;
}

/* The last call that may use the object, or 0. */
static inline uint64_t adsm_object_last_use(const struct adsm_object *object)
{
	uint64_t last = adsm_object_unnamed(object);

	for (unsigned i = 0; i < object->home->n_lanes; i++)
		last = object->use_seq[i] > last ? object->use_seq[i] : last;
	return last;
}

/*
 * A call that may use the object, or with adsm_object_writer() one that may write it, and that is not known to have
 * ended; 0: there is none. There may be several users, but only one writer, because calls wait for each other.
 */
static inline uint64_t adsm_object_writer(const struct adsm_object *object)
{
	uint64_t unnamed = adsm_object_unnamed(object);

	if (!adsm_call_ended(object->home, unnamed))
		return unnamed;
	return adsm_call_ended(object->home, object->write_seq) ? 0 : object->write_seq;
}

static inline uint64_t adsm_object_user(const struct adsm_object *object)
{
	uint64_t unnamed = adsm_object_unnamed(object);

	if (!adsm_call_ended(object->home, unnamed))
		return unnamed;
	for (unsigned i = 0; i < object->home->n_lanes; i++)
		if (!adsm_call_ended(object->home, object->use_seq[i]))
			return object->use_seq[i];
	return 0;
}

/* Were the bytes of the object's Invalid blocks lost with the device? They were not if the device survives and the last
 * calls that may write the object had ended. */
static inline bool adsm_object_lost(const struct adsm_object *object)
{
	const struct adsm_home *home = object->home;
	const uint64_t unknown = object->assigned || home->unknown_seq <= object->born_seq ? 0 : home->unknown_seq;

	return home->lost_seq && (!home->device->caps.survives || adsm_call_lost(home, unknown) ||
				  adsm_call_lost(home, object->stored_seq));
}

/* The object's home; the next one if the object is moving. No lock is needed, but then the object may move. */
static inline struct adsm_home *adsm_object_home(const struct adsm_object *object)
{
	return __atomic_load_n(&object->home, __ATOMIC_ACQUIRE);
}

/*
 * Is @home, whose lock the caller holds, still the object's home? While the lock is given back, a call of another
 * device may move the object there (adsm_object_move()), unless something of it is busy, held or an input. Its other
 * fields then belong to the other home's lock.
 */
static inline bool adsm_object_is_at(const struct adsm_object *object, const struct adsm_home *home)
{
	return adsm_object_home(object) == home && !object->moving;
}

/* Is it still the same object, and is @home, whose lock the caller holds, still its home? */
static inline bool adsm_object_is_same(const struct adsm_object *object, const struct adsm_home *home,
				       uint64_t generation)
{
	return adsm_object_is_at(object, home) && object->live && !object->freeing && object->generation == generation;
}

/* The rest of adsm_object_lock(), with the lock of @home held: the object is not there, or not live. */
struct adsm_object *adsm_object_lock_again(struct adsm_object *object, struct adsm_home *home, uintptr_t address);

/* Find the object of an address and lock its home; NULL, with no lock taken, if no live object is there. */
static inline struct adsm_object *adsm_object_lock(uintptr_t address)
{
	struct adsm_object *object = adsm_index_find(address);
	struct adsm_home *home;

	if (!object)
		return NULL;
	home = adsm_object_home(object);
	adsm_lock(&home->lock);
	if (adsm_object_is_at(object, home) && object->live && address >= object->start &&
	    address - object->start < object->span)
		return object;
	return adsm_object_lock_again(object, home, address);
}

/* The same if the caller holds the home's lock: finds only objects of that home. */
struct adsm_object *adsm_object_find_locked(struct adsm_home *home, uintptr_t address);

/* An object without device memory comes (@change is 1) or goes (-1). Lock held. */
static inline void adsm_residents_count(const struct adsm_object *object, int change)
{
	struct adsm_residents *residents = &object->home->residents;

	residents->n_absent += (uint32_t)change;
	residents->absent_size += change < 0 ? -(uint64_t)object->span : object->span;
}

/* Put an object on its home's list of open objects; take it off. Lock held. */
void adsm_object_list_open(struct adsm_object *object);
void adsm_object_mark_closed(struct adsm_object *object);

static inline void adsm_object_mark_open(struct adsm_object *object)
{
	if (!object->open)
		adsm_object_list_open(object);
}
