/* SPDX-License-Identifier: MIT */
/* objects.c - makes and ends objects. Slots are type-stable, so that lookups need no lock. */
#include "core/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/arena.h"
#include "core/index.h"
#include "core/input.h"
#include "core/observe.h"
#include "core/place.h"
#include "core/replica.h"
#include "core/view.h"

#define SLOTS_PER_CHUNK ADSM_OBJECT_CHUNK
#define MAX_OBJECTS (SLOTS_PER_CHUNK * 1024)

static struct adsm_mutex mutex = ADSM_MUTEX_INIT(ADSM_RANK_OBJECTS);	/* slots, arena ranges, index changes */
struct adsm_object *adsm_object_chunks[MAX_OBJECTS / SLOTS_PER_CHUNK];
_Atomic uint32_t adsm_object_n_slots;
static _Atomic size_t n_alive;
static struct adsm_object *free_slots[ADSM_MAX_DEVICES];	/* by the last home of their objects */

size_t adsm_objects_alive(void)
{
	return atomic_load(&n_alive);
}

struct adsm_object *adsm_object_slot(uint32_t i)
{
	return i < adsm_object_n_slots ? &adsm_object_chunks[i / SLOTS_PER_CHUNK][i % SLOTS_PER_CHUNK] : NULL;
}

void adsm_objects_child(void)
{
	const struct adsm_kept *kept;
	void *base;

	for (uint32_t i = 0; i < adsm_object_n_slots; i++) {
		const struct adsm_object *object = &adsm_object_chunks[i / SLOTS_PER_CHUNK][i % SLOTS_PER_CHUNK];

		if (object->live && !object->device_only && !adsm_arena_has(object->start))
			adsm_os_reserve(object->start, object->span, &base);
	}
	for (size_t i = 0; (kept = adsm_kept_at(i)); i++)
		if (!kept->device_only && !adsm_arena_has(kept->start))
			adsm_os_reserve(kept->start, kept->span, &base);
}

int adsm_objects_take_range(size_t size, struct adsm_object *stand_in)
{
	uintptr_t start;
	int error;

	adsm_mutex_lock(&mutex);
	error = adsm_arena_take(size, &start);
	if (!error) {
		stand_in->start = start;
		stand_in->span = size;
		error = adsm_index_insert(start, size, stand_in);
		if (error)
			adsm_arena_give(start, size);
	}
	adsm_mutex_unlock(&mutex);
	return error;
}

void adsm_objects_give_range(struct adsm_object *stand_in)
{
	void *view = (void *)stand_in->start;
	int error;

	adsm_mutex_lock(&mutex);
	adsm_index_remove(stand_in->start, stand_in->span);
	/* As it was before: closed, mapped to the arena's file, one mapping with its neighbours. */
	error = adsm_os_duplicate(adsm_arena_alias(stand_in->start), stand_in->span, view);
	if (!error)
		error = adsm_os_protect(view, stand_in->span, ADSM_PROT_NONE);
	if (error) {
		adsm_os_unmap_to_reserve(view, stand_in->span);
		adsm_warn("%zu bytes of address space stay unused: error %d", stand_in->span, error);
	} else {
		adsm_os_dump(view, stand_in->span, false);
		adsm_arena_give(stand_in->start, stand_in->span);
	}
	adsm_mutex_unlock(&mutex);
}

void adsm_objects_reset_counters(void)
{
	adsm_mutex_lock(&mutex);
	for (uint32_t i = 0; i < adsm_object_n_slots; i++)
		adsm_counters_reset(&adsm_object_chunks[i / SLOTS_PER_CHUNK][i % SLOTS_PER_CHUNK].counters);
	adsm_mutex_unlock(&mutex);
}

static struct adsm_object *take_slot(struct adsm_home *home)
{
	struct adsm_object *object = free_slots[home->index], **chunk;

	if (object) {
		free_slots[home->index] = object->next_free;
		return object;
	}
	if (adsm_object_n_slots == MAX_OBJECTS)
		return NULL;
	chunk = &adsm_object_chunks[adsm_object_n_slots / SLOTS_PER_CHUNK];
	if (!*chunk)
		*chunk = calloc(SLOTS_PER_CHUNK, sizeof(**chunk));
	if (!*chunk)
		return NULL;
	object = &(*chunk)[adsm_object_n_slots % SLOTS_PER_CHUNK];
	object->home = home;
	adsm_object_n_slots++;
	return object;
}

static void give_slot(struct adsm_object *object)
{
	object->next_free = free_slots[object->home->index];
	free_slots[object->home->index] = object;
}

bool adsm_objects_give_up(const struct adsm_home *home)
{
	bool any = false;

	adsm_mutex_lock(&mutex);
	while (adsm_place_give_up_oldest(home))
		any = true;
	adsm_mutex_unlock(&mutex);
	for (int i = 0; i < adsm_n_homes; i++)
		while ((!home || home == &adsm_homes[i]) && adsm_replicas_give_up_oldest(&adsm_homes[i]))
			any = true;
	return any;
}

bool adsm_objects_give_up_oldest(const struct adsm_home *home)
{
	bool any;

	adsm_mutex_lock(&mutex);
	any = adsm_place_give_up_oldest(home);
	adsm_mutex_unlock(&mutex);
	return any || adsm_replicas_give_up_oldest(&adsm_homes[home->index]);
}

uint64_t adsm_objects_memory_free(const struct adsm_home *home)
{
	struct adsm_device *device = home->device;
	uint64_t size = device->backend->memory_free(device) + adsm_kept_size(home) + adsm_replicas_size(home);

	return size < device->caps.memory_size ? size : device->caps.memory_size;
}

static unsigned shift_of(size_t size)
{
	return (unsigned)__builtin_ctzl(size);
}

/* Make the blocks of a new object: all in the protocol's first state, with views that permit what is mapped. */
static int make_blocks(struct adsm_object *object, size_t block_size, enum adsm_prot view, bool paged)
{
	const struct adsm_protocol *protocol = object->blocks.protocol;
	size_t n;

	/* The block is the whole object. A power of two makes it a shift to find a block. */
	if (protocol->whole_object)
		block_size = object->span == 1 ? 1 : (size_t)1 << (64 - __builtin_clzl(object->span - 1));
	object->blocks.shift = shift_of(block_size);
	n = (object->span + block_size - 1) >> object->blocks.shift;
	if (n > UINT32_MAX)
		return adsm_fail(-EINVAL, "an object of %zu bytes has too many blocks of %zu bytes", object->size,
				 block_size);
	object->blocks.at = calloc(n, sizeof(*object->blocks.at));
	if (!object->blocks.at)
		return -ENOMEM;
	object->blocks.n = (uint32_t)n;
	object->blocks.last_size = object->size - ((n - 1) << object->blocks.shift);
	adsm_blocks_init(&object->blocks, protocol, view);
	for (size_t b = 0; paged && b < n; b++)
		object->blocks.at[b].flags = ADSM_BLOCK_BACKED | ADSM_BLOCK_MAPPED;
	return 0;
}

/* Give an object host pages, and a view that permits @view. */
static int populate(struct adsm_object *object, enum adsm_prot view)
{
	int error;

	adsm_os_huge(object->alias, object->span & ~(ADSM_HUGE_PAGE_SIZE - 1));
	adsm_os_populate(object->alias, object->span, true);
	error = adsm_view_attach(object, view);
	if (!error)
		adsm_os_populate((void *)object->start, object->span, !object->blocks.detects);
	return error;
}

#ifndef NDEBUG
/* The contents are undefined: make that visible by a different pattern on each side. */
static void fill_patterns(struct adsm_object *object)
{
	if (object->span > ADSM_PLACE_PATTERN_MAX)
		return;
	if (!object->device_only)
		memset(object->alias, 0xc5, object->span);
	/* The program's own memory may not belong to it yet, in the order of its commands. */
	if (object->memory && !object->home->device->caps.unified && !object->adopted)
		adsm_place_pattern(object->memory);
}
#else
static void fill_patterns(struct adsm_object *object)
{
}
#endif

/* Does an object get its device memory now, and keep it? */
static bool is_pinned(const struct adsm_home *home, const struct adsm_object_options *options)
{
	return !home->residents.on || options->device_only || options->adopt || options->reuse;
}

/* Can the device ever have the object? */
static int check_size(const struct adsm_object *object)
{
	const struct adsm_device *device = object->home->device;
	uint64_t most = device->caps.alloc_max ? device->caps.alloc_max : device->caps.memory_size;

	return object->span <= most ? 0 :
		adsm_fail(-ENOMEM, "an object of %zu bytes is too large for %s: it has %lu bytes of memory, and one "
			  "object may have %lu", object->size, device->name, (unsigned long)device->caps.memory_size,
			  (unsigned long)most);
}

/* All of making an object, except that it becomes live. */
static int create(struct adsm_object *object, size_t size, const struct adsm_object_options *options)
{
	enum adsm_pages pages = ADSM_PAGES_NONE;
	enum adsm_prot view = ADSM_PROT_NONE;
	adsm_kept_free *driver_free = NULL;
	int error = 0;

	object->size = size;
	object->span = adsm_whole_pages(size);
	object->device_only = options->device_only;
	object->adopted = options->adopt || options->reuse;
	object->pinned = is_pinned(object->home, options);
	object->fixed = options->fixed;
	object->placing = object->parked = object->stays = false;
	object->memory = NULL;
	object->round = 0;
	object->blocks = (struct adsm_blocks){
		.protocol = options->protocol,
		.detects = options->protocol && adsm_protocol_detects(options->protocol),
	};
	object->chunked = false;
	error = object->pinned ? 0 : check_size(object);
	if (error)
		return error;
	/* ReadOnly, but closed: there is nothing to be read, and so a block that is written first is opened only
	 * once. */
	if (!object->blocks.detects || options->populate)
		view = object->blocks.detects ? ADSM_PROT_READ : ADSM_PROT_RW;
	if (options->adopt || !adsm_place_take_kept(object, &pages, &driver_free))
		error = options->reuse ? -ENOENT : adsm_place_take_new(object, options->adopt, &pages);
	if (error)
		return error;
	if (!object->device_only) {
		error = make_blocks(object, options->block_size, view, options->populate || pages == ADSM_PAGES_ALL);
		if (!error)
			error = options->populate ? populate(object, view) : adsm_view_attach(object, view);
		if (error)
			goto free_blocks;
	}
	adsm_counters_reset(&object->counters);
	object->name[0] = '\0';
	object->record = NULL;
	object->paged = false;
	error = adsm_index_insert(object->start, object->span, object);
	if (error)
		goto free_blocks;
	object->record = adsm_record_make(object);
	fill_patterns(object);
	return 0;

free_blocks:
	free(object->blocks.at);
	object->blocks.n = 0;
	adsm_place_leave(object, driver_free);
	return error;
}

static void end_transit(struct adsm_home *home, uint64_t span)
{
	struct adsm_sigset old;

	adsm_home_lock(home, &old);
	home->residents.in_transit -= span;
	adsm_home_notify(home);		/* a call may wait for the memory */
	adsm_home_unlock(home, &old);
}

/* Make an object with a slot, but not live. */
static int make(struct adsm_home *home, size_t size, const struct adsm_object_options *options,
		struct adsm_object **ret_object)
{
	int error;

	adsm_mutex_lock(&mutex);
	*ret_object = take_slot(home);
	error = *ret_object ? create(*ret_object, size, options) :
		adsm_fail(-ENOMEM, "no room for another object: out of memory, or there are %u objects already",
			  MAX_OBJECTS);
	if (!error)
		n_alive++;
	else if (*ret_object)
		give_slot(*ret_object);
	adsm_mutex_unlock(&mutex);
	return error;
}

int adsm_object_create(struct adsm_home *home, size_t size, const struct adsm_object_options *options,
		       struct adsm_object **ret_object)
{
	const uint64_t span = adsm_whole_pages(size);
	struct adsm_object *object;
	struct adsm_sigset old;
	int error;

	if (size > adsm_arena.size)
		return adsm_fail(-ENOMEM, "%zu bytes are more than the size of the arena (ADSM_ARENA)", size);
	home->residents.in_transit += span;
	error = make(home, size, options, &object);
	if (error) {
		end_transit(home, span);
		return error;
	}
	adsm_os_signals_block(&old);
	adsm_lock(&home->lock);
	object->freeing = object->assigned = object->lent = object->moving = false;
	object->generation++;
	object->version++;
	object->born_seq = home->last_seq;
	/* the call that stands for coalesced commands cannot use the object */
	atomic_store(&home->coalesces, false);
	memset(object->use_seq, 0, sizeof(object->use_seq));
	object->write_seq = object->stored_seq = 0;
	object->holds = NULL;
	memset(&object->habits, 0, sizeof(object->habits));
	if (!object->device_only) {
		adsm_object_mark_open(object);
		adsm_blocks_join(&object->blocks, adsm_policy_of(&home->policies, object->blocks.protocol),
				 &home->sends);
		home->n_undetected += !object->blocks.detects;
		home->n_synced += object->blocks.syncs;
	}
	if (!object->memory)
		adsm_residents_count(object, 1);
	object->live = true;
	home->residents.in_transit -= span;
	adsm_home_notify(home);
	adsm_unlock(&home->lock);
	adsm_os_signals_restore(&old);
	*ret_object = object;
	return 0;
}

bool adsm_object_destroy(struct adsm_object *object, adsm_kept_free *driver_free)
{
	struct adsm_home *home = object->home;
	const uint64_t span = object->memory ? object->span : 0;
	bool kept;

	object->live = false;
	home->residents.in_transit += span;
	if (!object->memory)
		adsm_residents_count(object, -1);
	if (!object->device_only) {
		adsm_blocks_leave(&object->blocks);
		adsm_inputs_drop(object);
		adsm_object_mark_closed(object);
		home->n_undetected -= !object->blocks.detects;
		home->n_synced -= object->blocks.syncs;
	}
	adsm_unlock(&home->lock);

	adsm_mutex_lock(&mutex);
	adsm_record_end(object->record);
	object->record = NULL;
	adsm_index_remove(object->start, object->span);
	kept = adsm_place_leave(object, driver_free);
	free(object->blocks.at);
	object->blocks.at = NULL;
	give_slot(object);
	n_alive--;
	adsm_mutex_unlock(&mutex);
	if (span)
		end_transit(home, span);
	return kept;
}
