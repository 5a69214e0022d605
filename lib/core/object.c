/* SPDX-License-Identifier: MIT */
/*
 * object.c - making and ending objects; type-stable slots, so that lookups need no lock.
 *
 * An object's bytes are in the arena's file, and its view is where they are in the arena's range: on devices that take
 * an address (or have none), start is that place. Where the driver dictates the address, start is there, and so is the
 * view; the place in the arena's range stays closed, and only says which bytes of the file, and of the alias, it has.
 * There a view stays mapped, closed, when its object has ended. Small ones have their places in chunks of the arena as
 * they lie in chunks of the driver's addresses: so neighbours that are closed are one mapping there too, and what
 * ends between them takes none.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/options.h"
#include "core/arena.h"
#include "core/block.h"
#include "core/index.h"
#include "core/object.h"
#include "core/observe.h"

#define SLOTS_PER_CHUNK ((uint32_t)1024)
#define MAX_OBJECTS (SLOTS_PER_CHUNK * 1024)

static struct adsm_mutex mutex = ADSM_MUTEX_INIT;	/* slots, arena ranges, index changes */
static struct adsm_object *chunks[MAX_OBJECTS / SLOTS_PER_CHUNK];	/* never given back */
static _Atomic uint32_t n_slots;
static _Atomic size_t n_alive;
static struct adsm_object *free_slots[ADSM_MAX_DEVICES];	/* a slot never changes its home */

size_t adsm_objects_alive(void)
{
	return atomic_load(&n_alive);
}

struct adsm_object *adsm_object_slot(uint32_t i)
{
	return i < n_slots ? &chunks[i / SLOTS_PER_CHUNK][i % SLOTS_PER_CHUNK] : NULL;
}

void adsm_objects_child(void)
{
	const struct adsm_kept *kept;
	void *base;

	for (uint32_t i = 0; i < n_slots; i++) {
		const struct adsm_object *object = &chunks[i / SLOTS_PER_CHUNK][i % SLOTS_PER_CHUNK];

		if (object->live && !object->device_only && !adsm_arena_has(object->start))
			adsm_os_reserve(object->start, object->span, &base);
	}
	for (size_t i = 0; (kept = adsm_kept_at(i)); i++)
		if (!kept->device_only && !adsm_arena_has(kept->start))
			adsm_os_reserve(kept->start, kept->span, &base);
}

struct adsm_object *adsm_object_lock(uintptr_t address)
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

struct adsm_object *adsm_object_find_locked(struct adsm_home *home, uintptr_t address)
{
	struct adsm_object *object = adsm_index_find(address);

	if (object && object->home == home && object->live && address - object->start < object->span)
		return object;
	return NULL;
}

void adsm_objects_reset_counters(void)
{
	adsm_mutex_lock(&mutex);
	for (uint32_t i = 0; i < n_slots; i++)
		adsm_counters_reset(&chunks[i / SLOTS_PER_CHUNK][i % SLOTS_PER_CHUNK].counters);
	adsm_mutex_unlock(&mutex);
}

static struct adsm_object *take_slot(struct adsm_home *home)
{
	struct adsm_object *object = free_slots[home->index], **chunk;

	if (object) {
		free_slots[home->index] = object->next_free;
		return object;
	}
	if (n_slots == MAX_OBJECTS)
		return NULL;
	chunk = &chunks[n_slots / SLOTS_PER_CHUNK];
	if (!*chunk)
		*chunk = calloc(SLOTS_PER_CHUNK, sizeof(**chunk));
	if (!*chunk)
		return NULL;
	object = &(*chunk)[n_slots % SLOTS_PER_CHUNK];
	object->home = home;
	n_slots++;
	return object;
}

static void give_slot(struct adsm_object *object)
{
	object->next_free = free_slots[object->home->index];
	free_slots[object->home->index] = object;
}

static unsigned shift_of(size_t size)
{
	return (unsigned)__builtin_ctzl(size);
}

/* The blocks of a fresh object: all in the protocol's first state, the view as mapped. */
static int make_blocks(struct adsm_object *object, size_t block_size, enum adsm_prot view, bool paged)
{
	const struct adsm_protocol *protocol = object->blocks.protocol;
	size_t n;

	/* A block that is the whole object: a power of two, so that finding it is a shift like any other. */
	if (protocol->whole_object)
		block_size = object->span == 1 ? 1 : (size_t)1 << (64 - __builtin_clzl(object->span - 1));
	object->blocks.shift = shift_of(block_size);
	n = (object->span + block_size - 1) >> object->blocks.shift;
	if (n > UINT32_MAX)
		return adsm_fail(-EINVAL, "%zu bytes are too many blocks of %zu bytes", object->size, block_size);
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

static void populate(struct adsm_object *object)
{
	adsm_os_huge(object->alias, object->span & ~(ADSM_HUGE_PAGE_SIZE - 1));
	adsm_os_populate(object->alias, object->span, true);
	adsm_os_populate((void *)object->start, object->span, !object->blocks.detects);
	for (uint32_t b = 0; b < object->blocks.n; b++)
		object->blocks.at[b].flags = ADSM_BLOCK_BACKED | ADSM_BLOCK_MAPPED;
}

#ifndef NDEBUG
/* Contents are undefined: make it show, with another pattern on each side. */
static void fill_patterns(struct adsm_object *object)
{
	const struct adsm_backend *backend = object->home->device->backend;

	if (object->span > (size_t)1 << 20)
		return;
	if (!object->device_only)
		memset(object->alias, 0xc5, object->span);
	/* What the program allocated may not be its yet in the order of its commands. */
	if (!object->home->device->caps.unified && !object->adopted)
		backend->fill(object->memory, 0, 0xd5, object->span, NULL);
}
#else
static void fill_patterns(struct adsm_object *object)
{
}
#endif

static uintptr_t place_of(const char *alias)
{
	return adsm_arena.base + (uintptr_t)(alias - adsm_arena.alias);
}

/* ---- places of objects whose addresses are dictated */

#define CHUNK ADSM_HUGE_PAGE_SIZE
#define SMALL_SPAN ((size_t)128 << 10)	/* bytes: these are never pinned, so the backend need not know the place */
#define DUMPED_SPAN CHUNK		/* bytes: those in core files have mappings of their own */

/* Does another object have its place in the chunk of @address, or what is kept of one? *ret_chunk: the chunk's own. */
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

/* Where its address is known already and it is small, that decides. */
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

/* The object is in the index no more. */
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

/* ---- both ways */

/* Where the CPU has used the object there are pages. */
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
		if (has_view && object->span >= DUMPED_SPAN)
			adsm_os_dump((void *)object->start, object->span, false);
		if (object->alias)
			give_place(object);
	} else if (has_view) {
		adsm_arena_give_view(object->start, object->span, pages_of(object));
	} else {
		adsm_arena_give(object->start, object->span);
	}
}

static int close_view(struct adsm_object *object)
{
	int error = adsm_home_protect(object->home, object->start, object->span, ADSM_PROT_NONE);

	if (error)
		adsm_warn("cannot close %zu bytes at %p: error %d", object->span, (void *)object->start, error);
	return error;
}

/* ---- what is kept for new objects */

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

static bool give_up_oldest(const struct adsm_home *home)
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

	if (!kept.home->device->caps.keeps || (object->adopted && !driver_free) || kept.span > adsm_core_options.keep)
		return false;
	while (!adsm_kept_put(&kept))
		if (!give_up_oldest(kept.home) && !give_up_oldest(NULL))
			return false;
	return true;
}

static bool take_kept(struct adsm_object *object, enum adsm_prot view, enum adsm_pages *ret_pages,
		      adsm_kept_free **ret_driver_free)
{
	struct adsm_kept kept;

	if (!adsm_kept_take(object->home, object->span, object->device_only, !object->adopted, &kept))
		return false;
	if (view != ADSM_PROT_NONE && adsm_home_protect(kept.home, kept.start, kept.span, view)) {
		end_kept(&kept);
		return false;
	}
	object->start = kept.start;
	object->alias = kept.alias;
	object->memory = kept.memory;
	object->chunked = kept.chunked;
	*ret_pages = kept.pages;
	*ret_driver_free = kept.driver_free;
	return true;
}

bool adsm_objects_give_up(const struct adsm_home *home)
{
	bool any = false;

	adsm_mutex_lock(&mutex);
	while (give_up_oldest(home))
		any = true;
	adsm_mutex_unlock(&mutex);
	return any;
}

uint64_t adsm_objects_memory_free(const struct adsm_home *home)
{
	struct adsm_device *device = home->device;
	uint64_t size = device->backend->memory_free(device) + adsm_kept_size(home);

	return size < device->caps.memory_size ? size : device->caps.memory_size;
}

/* Address, memory and view where the address is the arena's. */
static int place_here(struct adsm_object *object, enum adsm_prot view, enum adsm_pages *ret_pages)
{
	struct adsm_device *device = object->home->device;
	int error = object->device_only ? adsm_arena_take(object->span, &object->start) :
		adsm_arena_take_view(object->span, &object->start, ret_pages);

	if (error)
		return error;
	object->alias = adsm_arena_alias(object->start);
	if (view != ADSM_PROT_NONE) {
		error = adsm_home_protect(object->home, object->start, object->span, view);
		if (error)
			adsm_fail(error, "cannot open %zu bytes: no mappings are left (vm.max_map_count)",
				  object->span);
	}
	if (!error)
		error = device->backend->alloc(device, object->span, object->start, &object->memory);
	if (error) {
		if (!object->device_only)
			close_view(object);
		give_range(object);
	}
	return error;
}

/* Over what the driver has there. */
static int map_view(struct adsm_object *object, enum adsm_prot view)
{
	void *from = (void *)place_of(object->alias), *to = (void *)object->start;
	int error = adsm_os_duplicate(from, object->span, to);

	if (error == -ENOMEM) {
		adsm_home_recover(object->home);
		error = adsm_os_duplicate(from, object->span, to);
	}
	if (!error && view != ADSM_PROT_NONE)
		error = adsm_home_protect(object->home, object->start, object->span, view);
	if (error) {
		/* It may be there no more. */
		adsm_os_unmap_to_reserve(to, object->span);
		return adsm_fail(error, "cannot map %zu bytes (vm.max_map_count, ulimit -v)", object->span);
	}
	if (object->span >= DUMPED_SPAN)
		adsm_os_dump(to, object->span, true);
	return 0;
}

/* The view takes the address of the memory. */
static int take_address(struct adsm_object *object, uint64_t start)
{
	uint64_t last = start + object->span - 1;

	if (!start || start % ADSM_PAGE_SIZE || last < start || adsm_arena_has(start) || adsm_arena_has(last))
		return adsm_fail(-EINVAL, "%zu bytes at 0x%lx are no place for a view", object->span,
				 (unsigned long)start);
	if (adsm_index_next(start, object->span) != start + object->span)
		return adsm_fail(-EEXIST, "%zu bytes at 0x%lx are in another object", object->span,
				 (unsigned long)start);
	object->start = start;
	return 0;
}

/* The same where the driver dictates the address. */
static int place_there(struct adsm_object *object, uint64_t adopt, enum adsm_prot view)
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
		error = backend->memory_adopt(device, adopt, object->span,
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
		error = map_view(object, view);
	if (error)
		goto free_memory;
	return 0;

free_memory:
	backend->free(object->memory);
give_range:
	give_range(object);
	return error;
}

/* The end of both, unless they are kept: true. */
static bool leave_place(struct adsm_object *object, adsm_kept_free *driver_free)
{
	/* Before the driver may give the range to somebody else, or to nobody. */
	int error = object->device_only ? 0 : close_view(object);

	if (!error && keep(object, driver_free))
		return true;
	object->home->device->backend->free(object->memory);
	give_range(object);
	return false;
}

/* Out of memory, or of addresses: what is kept is given up first. */
static int take_new(struct adsm_object *object, uint64_t adopt, enum adsm_prot view, enum adsm_pages *ret_pages)
{
	bool there = adopt || object->home->device->caps.dictates_address;
	int error;

	do
		error = there ? place_there(object, adopt, view) : place_here(object, view, ret_pages);
	while (error == -ENOMEM && give_up_oldest(NULL));
	return error;
}

/* Everything but making it known. */
static int create(struct adsm_object *object, size_t size, const struct adsm_object_options *options)
{
	enum adsm_pages pages = ADSM_PAGES_NONE;
	enum adsm_prot view = ADSM_PROT_NONE;
	adsm_kept_free *driver_free = NULL;
	int error = 0;

	object->size = size;
	object->span = (size + ADSM_PAGE_SIZE - 1) & ~(ADSM_PAGE_SIZE - 1);
	object->device_only = options->device_only;
	object->adopted = options->adopt || options->reuse;
	object->blocks = (struct adsm_blocks){
		.protocol = options->protocol,
		.detects = options->protocol && adsm_protocol_detects(options->protocol),
	};
	object->chunked = false;
	/* Closed, though ReadOnly: nothing is there to be read, and what is written first is opened once. */
	if (!object->device_only && !object->blocks.detects)
		view = ADSM_PROT_RW;
	else if (!object->device_only && options->populate)
		view = ADSM_PROT_READ;
	if (options->adopt || !take_kept(object, view, &pages, &driver_free))
		error = options->reuse ? -ENOENT : take_new(object, options->adopt, view, &pages);
	if (error)
		return error;
	if (!object->device_only) {
		error = make_blocks(object, options->block_size, view, pages == ADSM_PAGES_ALL);
		if (error)
			goto leave_place;
		if (options->populate)
			populate(object);
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
leave_place:
	leave_place(object, driver_free);
	return error;
}

int adsm_object_create(struct adsm_home *home, size_t size, const struct adsm_object_options *options,
		       struct adsm_object **ret_object)
{
	struct adsm_object *object;
	struct adsm_sigset old;
	int error;

	if (size > adsm_arena.size)
		return adsm_fail(-ENOMEM, "%zu bytes are more than the arena has (ADSM_ARENA)", size);
	adsm_mutex_lock(&mutex);
	object = take_slot(home);
	if (!object) {
		adsm_mutex_unlock(&mutex);
		return adsm_fail(-ENOMEM, "no room for another object: out of memory, or %u of them already",
				 MAX_OBJECTS);
	}
	error = create(object, size, options);
	if (error) {
		give_slot(object);
		adsm_mutex_unlock(&mutex);
		return error;
	}
	n_alive++;
	adsm_mutex_unlock(&mutex);

	adsm_os_signals_block(&old);
	adsm_lock(&home->lock);
	object->freeing = object->assigned = false;
	object->birth++;
	object->born_seq = home->last_seq;
	atomic_store(&home->gather.open, false);	/* what stands for calls so far cannot use it */
	object->use_seq = object->write_seq = 0;
	object->holds = NULL;
	memset(&object->first_read, 0, sizeof(object->first_read));
	memset(&object->habits, 0, sizeof(object->habits));
	if (!object->device_only) {
		adsm_object_mark_open(object);
		adsm_blocks_join(&object->blocks, adsm_policy_of(&home->policies, object->blocks.protocol),
				 &home->sends);
		home->n_undetected += !object->blocks.detects;
	}
	object->live = true;
	adsm_unlock(&home->lock);
	adsm_os_signals_restore(&old);
	*ret_object = object;
	return 0;
}

bool adsm_object_destroy(struct adsm_object *object, adsm_kept_free *driver_free)
{
	struct adsm_home *home = object->home;
	bool kept;

	object->live = false;
	if (!object->device_only) {
		adsm_object_drop(object);
		home->n_undetected -= !object->blocks.detects;
	}
	adsm_unlock(&home->lock);

	adsm_mutex_lock(&mutex);
	adsm_record_end(object->record);
	object->record = NULL;
	adsm_index_remove(object->start, object->span);
	kept = leave_place(object, driver_free);
	free(object->blocks.at);
	object->blocks.at = NULL;
	give_slot(object);
	n_alive--;
	adsm_mutex_unlock(&mutex);
	return kept;
}
