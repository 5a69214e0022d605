/* SPDX-License-Identifier: MIT */
/* place.h - the place of an object: its address, its memory, its view. objects.c serialises the callers. */
#pragma once

#include "core/kept.h"
#include "core/object.h"

/* Give an object the youngest kept memory of its span; false: there is none. The pages of its view are inaccessible. */
bool adsm_place_take_kept(struct adsm_object *object, enum adsm_pages *ret_pages, adsm_kept_free **ret_driver_free);
/* Give an object a new place. @adopt: the address of the program's own memory; 0: none. */
int adsm_place_take_new(struct adsm_object *object, uint64_t adopt, enum adsm_pages *ret_pages);
/* The object needs its place and its view no more. True: the memory is kept. */
bool adsm_place_leave(struct adsm_object *object, adsm_kept_free *driver_free);
/* Free the oldest kept memory of a home, or of all homes if @home is NULL; false: nothing is kept. */
bool adsm_place_give_up_oldest(const struct adsm_home *home);
