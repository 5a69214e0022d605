/* SPDX-License-Identifier: MIT */
/* objects.h - the life of objects: they are made, known by their slots, and end. */
#pragma once

#include "core/kept.h"
#include "core/object.h"

struct adsm_object_options {
	const struct adsm_protocol *protocol;
	size_t block_size;
	bool populate;
	bool device_only;
	/* address of the program's own device memory, which becomes the object; 0: none */
	uint64_t adopt;
	/* also the program's own memory, but memory that is kept (kept.h); -ENOENT if there is none */
	bool reuse;
	bool fixed;			/* its home never changes */
};

/* How many objects are alive, device-only ones included. */
size_t adsm_objects_alive(void);

/* The slots, for readers of other processes (base/watch.h): arrays of ADSM_OBJECT_CHUNK objects, never freed. */
#define ADSM_OBJECT_CHUNK ((uint32_t)1024)
extern struct adsm_object *adsm_object_chunks[];
extern _Atomic uint32_t adsm_object_n_slots;

/* Slot number @i, with or without a live object (`live`, under its home's lock); NULL: there are fewer slots. */
struct adsm_object *adsm_object_slot(uint32_t i);

/* In the child of a fork: keep the views closed, like adsm_arena_child(). */
void adsm_objects_child(void);

/* Bytes of free memory of a device, including kept memory and replicas (replica.h). */
uint64_t adsm_objects_memory_free(const struct adsm_home *home);
/* Free the memory that is kept for new objects of a home, or of all homes if @home is NULL, and that of replicas which
 * no call uses. True: there was some. No lock held. */
bool adsm_objects_give_up(const struct adsm_home *home);
/* The same for the oldest of them only; kept memory first. */
bool adsm_objects_give_up_oldest(const struct adsm_home *home);

/*
 * Take a closed range of the arena for anything that is not an object; in the index the range belongs to @stand_in,
 * which must stay. adsm_objects_give_range() gives it back, closed, once the caller has ended its own mappings of it.
 */
int adsm_objects_take_range(size_t size, struct adsm_object *stand_in);
void adsm_objects_give_range(struct adsm_object *stand_in);

/* Set the counters of all objects to 0. */
void adsm_objects_reset_counters(void);

/* Any thread, no lock held. */
int adsm_object_create(struct adsm_home *home, size_t size, const struct adsm_object_options *options,
		       struct adsm_object **ret_object);
/*
 * End an object. No call, transfer or hold uses it any more, and the caller has set its freeing flag. The caller holds
 * home->lock, which this function releases. @driver_free: frees the program's own memory, if that may be kept. True:
 * the memory is kept; @driver_free is called later, with the lock of all objects held.
 */
bool adsm_object_destroy(struct adsm_object *object, adsm_kept_free *driver_free);
