/* SPDX-License-Identifier: MIT */
/* place.h - where an object is: its address, its memory, its view. Callers are serialised by objects.c. */
#ifndef ADSM_PLACE_H
#define ADSM_PLACE_H

#include "core/kept.h"
#include "core/object.h"

/* A place of an object's span for it, the view as said: the youngest that is kept; false: none is. */
bool adsm_place_take_kept(struct adsm_object *object, enum adsm_prot view, enum adsm_pages *ret_pages,
			  adsm_kept_free **ret_driver_free);
/* A new one; @adopt: where the program's own memory is. */
int adsm_place_take_new(struct adsm_object *object, uint64_t adopt, enum adsm_prot view, enum adsm_pages *ret_pages);
/* The object needs it no more. True: it is kept. */
bool adsm_place_leave(struct adsm_object *object, adsm_kept_free *driver_free);
/* End the oldest that a home keeps, NULL: that any does; false: nothing is kept. */
bool adsm_place_give_up_oldest(const struct adsm_home *home);

#endif
