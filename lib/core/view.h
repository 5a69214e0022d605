/* SPDX-License-Identifier: MIT */
/* view.h - what the views of objects permit. Of the order in which views change and bytes move: block.h. */
#ifndef ADSM_VIEW_H
#define ADSM_VIEW_H

#include <errno.h>

#include "core/limits.h"
#include "core/object.h"
#include "core/observe.h"
#include "engine/engine.h"

/*
 * Of the process's mappings there may be none left (vm.max_map_count). Views may be shut without changing any state: a
 * later access only opens them again. So all of the following shut what helps, before they give up: -ENOMEM.
 */

/* ---- with the home's lock */

static inline void *adsm_run_view(const struct adsm_object *object, uint32_t first)
{
	return (void *)(object->start + ((size_t)first << object->blocks.shift));
}

/* One try, of which the blocks do not know. */
static inline int adsm_view_change(struct adsm_object *object, uint32_t first, uint32_t n, enum adsm_prot view)
{
	size_t size = adsm_run_span(object, first, n);

	if (adsm_is_paged(object))
		return adsm_observer->advice_view(object, (size_t)first << object->blocks.shift, size, view);
	return adsm_permit(object, (size_t)first << object->blocks.shift, size, object->blocks.at[first].view, view);
}

/* More of them, with what else is open shut. */
int adsm_view_retry(struct adsm_object *object, uint32_t first, uint32_t n, enum adsm_prot view);
/* Change what the view of a run permits; its blocks have one view. Mostly that is one call of the engine. */
static inline int adsm_view_set(struct adsm_object *object, uint32_t first, uint32_t n, enum adsm_prot view)
{
	int error = adsm_view_change(object, first, n, view);

	if (error == -ENOMEM)
		error = adsm_view_retry(object, first, n, view);
	if (error)
		return error;
	adsm_blocks_set_views(&object->blocks, first, n, view);
	if (view != ADSM_PROT_NONE && !adsm_is_paged(object) &&
	    !adsm_blocks_all_have(&object->blocks, first, n, ADSM_BLOCK_MAPPED)) {
		adsm_os_populate(adsm_run_view(object, first), adsm_run_span(object, first, n), view == ADSM_PROT_RW);
		adsm_blocks_set_flags(&object->blocks, first, n, ADSM_BLOCK_MAPPED);
	}
	return 0;
}

/* Shut all that is open of an object; states stay. */
int adsm_object_close(struct adsm_object *object);
/* The same of objects that lie side by side and that an unnamed call may use, with one call of the system for each run
 * of them. Best effort: adsm_object_close() does the rest. */
void adsm_close_neighbours(struct adsm_home *home);
/* Shut a view for good, if that can be: what is lost must not be read as if it were there. */
void adsm_object_close_view(struct adsm_object *object);

/* The program permits another most of whole pages (limits.h): their view follows. -ENOMEM, or -ENOTSUP of
 * an engine that lets writes to readable pages pass: nothing has changed. */
int adsm_view_limit(struct adsm_object *object, size_t offset, size_t size, enum adsm_prot limit);

/* ---- without it */

/* An object that nobody knows yet gets a view of its place, which permits @view. */
int adsm_view_attach(struct adsm_object *object, enum adsm_prot view);
/* One that nobody knows any longer loses its view, if it has one. A negative errno: that could not be closed. */
int adsm_view_detach(struct adsm_object *object);
/* Mappings have run out elsewhere: shut what may be shut, of other homes too. */
void adsm_home_recover(struct adsm_home *home);

#endif
