/* SPDX-License-Identifier: MIT */
/* place.h - where an object is: its address, its memory, its view. Callers are serialised by objects.c. */
#ifndef ADSM_PLACE_H
#define ADSM_PLACE_H

#include "core/kept.h"
#include "core/object.h"

/* Give an object the youngest kept place of its span; false: there is none. Its view's pages are inaccessible. */
bool adsm_place_take_kept(struct adsm_object *object, enum adsm_pages *ret_pages, adsm_kept_free **ret_driver_free);
/* Give it a new place; @adopt: where the program's own memory is. */
int adsm_place_take_new(struct adsm_object *object, uint64_t adopt, enum adsm_pages *ret_pages);
/* The object needs its place and its view no more. True: the place is kept. */
bool adsm_place_leave(struct adsm_object *object, adsm_kept_free *driver_free);
/* End the oldest that a home keeps, NULL: that any does; false: nothing is kept. */
bool adsm_place_give_up_oldest(const struct adsm_home *home);

#endif
