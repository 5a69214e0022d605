/* SPDX-License-Identifier: MIT */
/* view.h - what the views of objects permit. Of the order in which views change and bytes move: block.h. */
#ifndef ADSM_VIEW_H
#define ADSM_VIEW_H

#include "core/object.h"

/*
 * Of the process's mappings there may be none left (vm.max_map_count). Views may be shut without changing any state: a
 * later access only opens them again. So all of the following shut what helps, before they give up: -ENOMEM.
 */

/* ---- with the home's lock */

/* Change what the view of a run permits; its blocks have one view. */
int adsm_view_set(struct adsm_object *object, uint32_t first, uint32_t n, enum adsm_prot view);
/* Shut all that is open of an object; states stay. */
int adsm_object_close(struct adsm_object *object);
/* The same of objects that lie side by side and that an unnamed call may use, with one call of the system for each run
 * of them. Best effort: adsm_object_close() does the rest. */
void adsm_close_neighbours(struct adsm_home *home);
/* Shut a view for good, if that can be: what is lost must not be read as if it were there. */
void adsm_object_close_view(struct adsm_object *object);

/* ---- without it */

/* Open or close pages that are no object's yet, or no longer. */
int adsm_home_protect(struct adsm_home *home, uintptr_t start, size_t size, enum adsm_prot prot);
/* Mappings have run out elsewhere: shut what may be shut, of other homes too. */
void adsm_home_recover(struct adsm_home *home);

#endif
