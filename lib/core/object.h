/* SPDX-License-Identifier: MIT */
/* object.h - objects: runs of blocks with one home device. */
#ifndef ADSM_OBJECT_H
#define ADSM_OBJECT_H

#include "base/stats.h"
#include "core/blocks.h"
#include "core/home.h"
#include "core/index.h"

/* What happens to an object, since it was made, that may be worth a warning. */
struct adsm_habits {
	uint64_t early, again;		/* blocks sent early; of these, written again before a call took them */
	uint64_t fetches, fetched_bytes, fetch_ns;
	bool told_again, told_fetches;	/* each once */
};

struct adsm_engine;
struct adsm_hold;
struct adsm_input;
struct adsm_record;

struct adsm_object {
	/* Slots are never given back, so that a stale pointer can be looked at; valid while live. */
	struct adsm_home *home;
	bool live;
	bool freeing;
	bool device_only;		/* adsmDeviceAlloc(): an address and memory, no view, no blocks */
	bool adopted;			/* the program's own memory: driver.h */
	bool assigned;			/* belongs to the kernels it was assigned to only */
	bool open;			/* in home->open */
	bool paged;			/* its view is opened page by page, so that each use is seen */
	bool once;			/* stands for a write-once object in the index: never live; lib/once has it */
	bool lent;			/* the kernel may have pages of it in a pipe or in the network still */
	bool chunked;			/* where the driver dictated it: its place is one of a chunk's, place.c */
	uintptr_t start;
	size_t size;			/* the caller's */
	size_t span;			/* in whole pages */
	char *alias;
	const struct adsm_engine *engine;	/* its view's; NULL: it has none */
	_Atomic uint8_t *_Atomic limits;	/* what the program permits of each page: limits.h; NULL: all */
	_Atomic bool locked;		/* the program has locked some of its memory, by mlock() */
	struct adsm_blocks blocks;
	struct adsm_memory *memory;
	uint64_t generation;		/* another for each object that has the slot */
	uint64_t born_seq;		/* calls up to here cannot use it */
	uint64_t use_seq, write_seq;	/* the last named call that uses it, that may write it */
	uint64_t stored_seq;		/* the last call that may write it by its arguments, also with ADSM_PAPER=1 */
	struct adsm_object *open_prev, *open_next;
	struct adsm_object *next_free;
	struct adsm_hold *holds;
	struct adsm_input *inputs;	/* in progress */
	uint32_t last_input;		/* the number of the youngest ever */
	struct adsm_counters counters;
	struct adsm_habits habits;
	char name[ADSM_NAME_SIZE];
	struct adsm_record *record;	/* while somebody observes: observe.h; NULL: none */
};

static inline size_t adsm_block_size(const struct adsm_object *object)
{
	return (size_t)1 << object->blocks.shift;
}

/* Whose block it is. */
static inline struct adsm_object *adsm_object_of(const struct adsm_block *block)
{
	return (struct adsm_object *)((char *)block->owner - offsetof(struct adsm_object, blocks));
}

/* Bytes of a run that are the caller's. */
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

/* The calls that use (may write) an object have ended when home->completed reaches this. */
static inline uint64_t adsm_object_use_seq(const struct adsm_object *object)
{
	uint64_t unnamed = object->assigned ? 0 : object->home->unnamed_seq;

	if (unnamed <= object->born_seq)
		unnamed = 0;
	return unnamed > object->use_seq ? unnamed : object->use_seq;
}

static inline uint64_t adsm_object_write_seq(const struct adsm_object *object)
{
	uint64_t unnamed = object->assigned ? 0 : object->home->unnamed_seq;

	if (unnamed <= object->born_seq)
		unnamed = 0;
	return unnamed > object->write_seq ? unnamed : object->write_seq;
}

/* Did the bytes of the Invalid blocks of an object go down with the device? Not where its last calls had ended. */
static inline bool adsm_object_lost(const struct adsm_object *object)
{
	const struct adsm_home *home = object->home;
	const uint64_t unknown = object->assigned || home->unknown_seq <= object->born_seq ? 0 : home->unknown_seq;
	const uint64_t stored = unknown > object->stored_seq ? unknown : object->stored_seq;

	return home->lost_seq && (!home->device->caps.survives || stored >= home->lost_seq);
}

/* Look for the object of an address and lock its home; NULL (and nothing locked) when none is live there. */
static inline struct adsm_object *adsm_object_lock(uintptr_t address)
{
	struct adsm_object *object = adsm_index_find(address);

	if (!object)
		return NULL;
	adsm_lock(&object->home->lock);
	if (object->live && address >= object->start && address - object->start < object->span)
		return object;
	adsm_unlock(&object->home->lock);
	return NULL;
}

/* The same with the home's lock already held: only an object of that home. */
struct adsm_object *adsm_object_find_locked(struct adsm_home *home, uintptr_t address);

/* Put an object on its home's list of open ones, take it off. Lock held. */
void adsm_object_list_open(struct adsm_object *object);
void adsm_object_mark_closed(struct adsm_object *object);

static inline void adsm_object_mark_open(struct adsm_object *object)
{
	if (!object->open)
		adsm_object_list_open(object);
}

#endif
