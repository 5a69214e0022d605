/* SPDX-License-Identifier: MIT */
/* objects.h - the life of objects: they are made, known by their slots, and end. */
#ifndef ADSM_OBJECTS_H
#define ADSM_OBJECTS_H

#include "core/kept.h"
#include "core/object.h"

struct adsm_object_options {
	const struct adsm_protocol *protocol;
	size_t block_size;
	bool populate;
	bool device_only;
	uint64_t adopt;			/* where the program's own memory is, which it becomes; 0: none */
	bool reuse;			/* its own memory too, but such that is kept: kept.h; -ENOENT: there is none */
};

/* How many objects are alive, device-only ones included. */
size_t adsm_objects_alive(void);

/* Slot number @i, of an object or of none (live says so, under its home's lock); NULL: there are not so many. */
struct adsm_object *adsm_object_slot(uint32_t i);

/* In the child of a fork: keep the views closed, as adsm_arena_child() does. */
void adsm_objects_child(void);

/* How much memory a device has left, kept places included. */
uint64_t adsm_objects_memory_free(const struct adsm_home *home);
/* Free the places that a home keeps for new objects, NULL: that all keep. Were there any? No lock held. */
bool adsm_objects_give_up(const struct adsm_home *home);

/*
 * A range of the arena, closed, for something else than an object: in the index it is @stand_in, which stays. Given
 * back when it is closed again; the caller's mappings of it are gone.
 */
int adsm_objects_take_range(size_t size, struct adsm_object *stand_in);
void adsm_objects_give_range(struct adsm_object *stand_in);

/* Set the counters of all objects to 0. */
void adsm_objects_reset_counters(void);

/* Any thread, no lock held. */
int adsm_object_create(struct adsm_home *home, size_t size, const struct adsm_object_options *options,
		       struct adsm_object **ret_object);
/*
 * The end of an object that no call, transfer or hold uses any more and whose freeing flag is the caller's.
 * home->lock held; it is given back. @driver_free: of the program's own memory, where that may be kept. True:
 * that is kept, and @driver_free will be called, with the lock of all objects held.
 */
bool adsm_object_destroy(struct adsm_object *object, adsm_kept_free *driver_free);

#endif
