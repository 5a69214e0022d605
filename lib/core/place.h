/* SPDX-License-Identifier: MIT */
/* place.h - the place of an object: its address, its memory, its view. objects.c serialises the callers. */
#pragma once

#include "core/kept.h"
#include "core/object.h"

/* Give an object the youngest kept memory of its span; false: there is none. The pages of its view are inaccessible. */
bool adsm_place_take_kept(struct adsm_object *object, enum adsm_pages *ret_pages, adsm_kept_free **ret_driver_free);
/* Give an object a new place; only a pinned object gets device memory with it. @adopt: the address of the program's own
 * memory; 0: none. */
int adsm_place_take_new(struct adsm_object *object, uint64_t adopt, enum adsm_pages *ret_pages);
/* Take device memory for an object that has a place; object->memory does not change. Also in the fault handler, if the
 * device is signal-safe. */
int adsm_place_alloc(const struct adsm_object *object, struct adsm_memory **ret_memory);
/* In debug builds: make it visible that the contents of new device memory, and of small objects on the host, are
 * undefined. */
#define ADSM_PLACE_PATTERN_MAX ((size_t)1 << 20)	/* bytes: larger objects have no pattern */
#ifndef NDEBUG
void adsm_place_pattern(struct adsm_memory *memory);
#else
static inline void adsm_place_pattern(struct adsm_memory *memory)
{
}
#endif
/* The object needs its place and its view no more. True: the memory is kept. */
bool adsm_place_leave(struct adsm_object *object, adsm_kept_free *driver_free);
/* Free the oldest kept memory of a home, or of all homes if @home is NULL; false: nothing is kept. */
bool adsm_place_give_up_oldest(const struct adsm_home *home);
