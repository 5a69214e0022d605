/* SPDX-License-Identifier: MIT */
/*
 * place.c - the place of an object: its address, its device memory, its view, its place in the arena; and which of
 * these are kept of freed objects for new ones.
 *
 * The bytes of an object are in the arena's file. If the device takes an address (or has none), the object starts at
 * its place in the arena's range, and its view is there. If the driver dictates the address, the object and its view
 * are at that address. The object's place in the arena's range then stays closed; it only says which bytes of the file,
 * and of the alias, belong to the object.
 *
 * At a dictated address the view stays mapped, closed, when its object has ended. Small objects lie in a chunk of the
 * arena in the same order as in a chunk of the driver's addresses. So closed neighbours are one mapping there too, and
 * an object that ends between them takes no further mapping.
 */
#include "core/place.h"

#include <errno.h>

#include "base/log.h"
#include "core/arena.h"
#include "core/index.h"
#include "core/options.h"
#include "core/replica.h"
#include "core/view.h"

static uintptr_t place_of(const char *alias)
{
	return adsm_arena.base + (uintptr_t)(alias - adsm_arena.alias);
}

/* ---- places in the arena of objects whose addresses are dictated */

#define CHUNK ADSM_HUGE_PAGE_SIZE
/* bytes; smaller objects are never pinned, so the backend need not know their place */
#define SMALL_SPAN ((size_t)128 << 10)
/* bytes; objects from this size on are in core files, and have mappings of their own */
#define DUMPED_SPAN CHUNK

/* Does another object, or kept memory, have its place in the chunk of @address? *ret_chunk: the place of that chunk in
 * the arena. */
static bool find_mate(uintptr_t address, uintptr_t *ret_chunk)
{
	uintptr_t chunk = address & ~(CHUNK - 1), at = chunk, end = at + CHUNK;
	const struct adsm_kept *kept;

	while (at < end && (at = adsm_index_next(at, end - at)) < end) {
		struct adsm_object *object = adsm_index_find(at);

		*ret_chunk = place_of(object->alias) - (object->start - chunk);
		if (object->chunked)
			return true;
		at = object->start + object->span;
	}
	for (size_t i = 0; (kept = adsm_kept_at(i)); i++) {
		*ret_chunk = place_of(kept->alias) - (kept->start - chunk);
		if (kept->chunked && kept->start - chunk < CHUNK)
			return true;
	}
	return false;
}

/* Take a place in the arena. If the address is known and the object lies in one chunk, the address decides the
 * place. */
static int take_place(struct adsm_object *object)
{
	uintptr_t start = object->start, chunk = start & ~(CHUNK - 1), place = 0;
	int error = 0;

	if (start && start + object->span <= chunk + CHUNK) {
		object->chunked = find_mate(start, &place) || !adsm_arena_take(CHUNK, &place);
		place = object->chunked ? place + (start - chunk) : 0;
	}
	if (!place)
		error = adsm_arena_take(object->span, &place);
	if (!error)
		object->alias = adsm_arena_alias(place);
	return error;
}

/* Give a place back. The object is no longer in the index. */
static void give_place(struct adsm_object *object)
{
	uintptr_t place = place_of(object->alias), chunk;

	adsm_arena_discard(place, object->span);
	if (!object->chunked)
		adsm_arena_give(place, object->span);
	else if (!find_mate(object->start, &chunk))
		adsm_arena_give(place - object->start % CHUNK, CHUNK);
	object->chunked = false;
}

/* ---- giving back */

/* The blocks that the CPU has used have pages. */
static enum adsm_pages pages_of(const struct adsm_object *object)
{
	unsigned some = 0, all = ADSM_BLOCK_BACKED | ADSM_BLOCK_MAPPED;

	for (uint32_t b = 0; b < object->blocks.n; b++) {
		some |= object->blocks.at[b].flags & (ADSM_BLOCK_BACKED | ADSM_BLOCK_MAPPED);
		all &= object->blocks.at[b].flags;
	}
	return !some ? ADSM_PAGES_NONE :
		all == (ADSM_BLOCK_BACKED | ADSM_BLOCK_MAPPED) ? ADSM_PAGES_ALL : ADSM_PAGES_SOME;
}

static void give_range(struct adsm_object *object)
{
	bool has_view = !object->device_only;

	if (!adsm_arena_has(object->start)) {
		/* An object that got no device memory has no address yet. */
		if (has_view && object->start && object->span >= DUMPED_SPAN)
			adsm_os_dump((void *)object->start, object->span, false);
		if (object->alias)
			give_place(object);
	} else if (has_view) {
		adsm_arena_give_view(object->start, object->span, pages_of(object));
	} else {
		adsm_arena_give(object->start, object->span);
	}
}

/* ---- memory kept for new objects */

static void end_kept(const struct adsm_kept *kept)
{
	struct adsm_object object = { .home = kept->home, .start = kept->start, .span = kept->span,
				      .alias = kept->alias, .device_only = kept->device_only,
				      .chunked = kept->chunked };

	kept->home->device->backend->free(kept->memory);
	give_range(&object);
	if (kept->driver_free)
		kept->driver_free(kept->start);
}

bool adsm_place_give_up_oldest(const struct adsm_home *home)
{
	struct adsm_kept kept;

	if (!adsm_kept_take_oldest(home, &kept))
		return false;
	end_kept(&kept);
	return true;
}

/* The view is closed. */
static bool keep(const struct adsm_object *object, adsm_kept_free *driver_free)
{
	const struct adsm_kept kept = {
		.home = object->home, .memory = object->memory, .start = object->start, .span = object->span,
		.alias = object->alias, .driver_free = driver_free, .pages = pages_of(object),
		.device_only = object->device_only, .chunked = object->chunked,
	};

	if (!kept.memory || !kept.home->device->caps.keeps || (object->adopted && !driver_free) ||
	    kept.span > adsm_core_options.keep)
		return false;
	while (!adsm_kept_put(&kept))
		if (!adsm_place_give_up_oldest(kept.home) && !adsm_place_give_up_oldest(NULL))
			return false;
	return true;
}

bool adsm_place_take_kept(struct adsm_object *object, enum adsm_pages *ret_pages, adsm_kept_free **ret_driver_free)
{
	struct adsm_kept kept;

	if (!adsm_kept_take(object->home, object->span, object->device_only, !object->adopted, &kept))
		return false;
	object->start = kept.start;
	object->alias = kept.alias;
	object->memory = kept.memory;
	object->chunked = kept.chunked;
	*ret_pages = kept.pages;
	*ret_driver_free = kept.driver_free;
	return true;
}

/* ---- taking */

#ifndef NDEBUG
void adsm_place_pattern(struct adsm_memory *memory)
{
	if (memory->size <= ADSM_PLACE_PATTERN_MAX)
		memory->device->backend->fill(memory, 0, 0xd5, memory->size, NULL);
}
#endif

int adsm_place_alloc(const struct adsm_object *object, struct adsm_memory **ret_memory)
{
	struct adsm_device *device = object->home->device;

	return device->backend->alloc(device, object->span, object->start, ret_memory);
}

/* Address, memory and view, if the address is the arena's. */
static int place_here(struct adsm_object *object, enum adsm_pages *ret_pages)
{
	int error = object->device_only ? adsm_arena_take(object->span, &object->start) :
		adsm_arena_take_view(object->span, &object->start, ret_pages);

	if (error)
		return error;
	object->alias = adsm_arena_alias(object->start);
	error = object->pinned ? adsm_place_alloc(object, &object->memory) : 0;
	if (error)
		give_range(object);
	return error;
}

/* Map the view over the driver's own mapping. */
static int map_view(struct adsm_object *object)
{
	void *from = (void *)place_of(object->alias), *to = (void *)object->start;
	int error = adsm_os_duplicate(from, object->span, to);

	if (error == -ENOMEM) {
		adsm_home_recover(object->home);
		error = adsm_os_duplicate(from, object->span, to);
	}
	if (error) {
		/* The driver's mapping may be gone already. */
		adsm_os_unmap_to_reserve(to, object->span);
		return adsm_fail(error, "cannot map %zu bytes (vm.max_map_count, ulimit -v)", object->span);
	}
	if (object->span >= DUMPED_SPAN)
		adsm_os_dump(to, object->span, true);
	return 0;
}

/* The object takes the address of its device memory. */
static int take_address(struct adsm_object *object, uint64_t start)
{
	uint64_t last = start + object->span - 1;

	if (!start || start % ADSM_PAGE_SIZE || last < start || adsm_arena_has(start) || adsm_arena_has(last))
		return adsm_fail(-EINVAL, "%zu bytes at 0x%lx cannot be a view: the address is 0, not aligned to "
				 "pages, or in the arena", object->span, (unsigned long)start);
	if (adsm_index_next(start, object->span) != start + object->span)
		return adsm_fail(-EEXIST, "%zu bytes at 0x%lx overlap another object", object->span,
				 (unsigned long)start);
	object->start = start;
	return 0;
}

/* Address, memory and view, if the driver dictates the address. */
static int place_there(struct adsm_object *object, uint64_t adopt)
{
	struct adsm_device *device = object->home->device;
	const struct adsm_backend *backend = device->backend;
	bool has_view = !object->device_only;
	int error;

	object->start = 0;
	object->alias = NULL;
	error = adopt ? take_address(object, adopt) : 0;
	if (!error && has_view && (adopt || object->span > SMALL_SPAN))
		error = take_place(object);
	if (error)
		return error;
	if (adopt)
		error = backend->driver->memory_adopt(device, adopt, object->span,
						      has_view ? place_of(object->alias) : 0, &object->memory);
	else
		error = backend->alloc(device, object->span, object->alias ? place_of(object->alias) : 0,
				       &object->memory);
	if (error)
		goto give_range;
	if (!adopt)
		error = take_address(object, object->memory->address);
	if (!error && has_view && !object->alias)
		error = take_place(object);
	if (!error && has_view)
		error = map_view(object);
	if (error)
		goto free_memory;
	return 0;

free_memory:
	backend->free(object->memory);
give_range:
	give_range(object);
	return error;
}

bool adsm_place_leave(struct adsm_object *object, adsm_kept_free *driver_free)
{
	/* First the view: once the memory is freed, the driver may give the range to another user, or unmap it. */
	int error = adsm_view_detach(object);

	/* It is unknown when the system has finished with pages that it was lent, so no other object ever gets them. */
	if (!error && !object->lent && keep(object, driver_free))
		return true;
	if (object->memory)
		object->home->device->backend->free(object->memory);
	if (object->lent)
		adsm_blocks_clear_flags(&object->blocks, 0, object->blocks.n, ADSM_BLOCK_BACKED | ADSM_BLOCK_MAPPED);
	give_range(object);
	return false;
}

int adsm_place_take_new(struct adsm_object *object, uint64_t adopt, enum adsm_pages *ret_pages)
{
	bool there = adopt || object->home->device->caps.dictates_address;
	struct adsm_error_kept before;
	int error;

	adsm_error_keep(&before);
	/* Out of memory, or of addresses: give up kept memory and replicas, and try again. */
	do
		error = there ? place_there(object, adopt) : place_here(object, ret_pages);
	while (error == -ENOMEM && (adsm_place_give_up_oldest(NULL) || adsm_replicas_give_up_oldest(object->home)));
	if (!error)
		adsm_error_back(&before);
	return error;
}
