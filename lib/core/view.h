/* SPDX-License-Identifier: MIT */
/* view.h - what the views of objects permit. block.h says in which order views change and bytes move. */
#pragma once

#include <errno.h>

#include "core/limits.h"
#include "core/object.h"
#include "core/observe.h"
#include "engine/engine.h"

/*
 * The process may have no mappings left (vm.max_map_count). A view may be closed without a change of state: a later
 * access just opens it again. So the functions below first close views that can be closed, and only then fail with
 * -ENOMEM.
 */

/* ---- with the home's lock */

static inline void *adsm_run_view(const struct adsm_object *object, uint32_t first)
{
	return (void *)(object->start + ((size_t)first << object->blocks.shift));
}

/* Try once; the blocks' `view` fields do not change. */
static inline int adsm_view_change(struct adsm_object *object, uint32_t first, uint32_t n, enum adsm_prot view)
{
	size_t size = adsm_run_span(object, first, n);

	if (adsm_is_paged(object))
		return adsm_observer->advice_view(object, (size_t)first << object->blocks.shift, size, view);
	return adsm_permit(object, (size_t)first << object->blocks.shift, size, object->blocks.at[first].view, view);
}

/* Further tries, after other views have been closed. */
int adsm_view_retry(struct adsm_object *object, uint32_t first, uint32_t n, enum adsm_prot view);
/* Change what the view of a run permits; all of its blocks have one view. This is mostly one call of the engine. */
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

/* Close all open parts of an object's view; states do not change. */
int adsm_object_close(struct adsm_object *object);
/* Close the views of neighbouring objects that an unnamed call may use, with one system call for each row of
 * neighbours. Best effort: adsm_object_close() closes the rest. */
void adsm_close_neighbours(struct adsm_home *home);
/* Close an object's whole view, if possible: for instance, the program must not read bytes that were lost as if they
 * were there. */
void adsm_object_close_view(struct adsm_object *object);

/* The program changes the limit of whole pages (limits.h): their view follows. Returns -ENOMEM, or -ENOTSUP if the
 * engine lets writes to readable pages pass without a fault: nothing has changed. */
int adsm_view_limit(struct adsm_object *object, size_t offset, size_t size, enum adsm_prot limit);

/* ---- without it */

/* Give an object that is not known yet a view of its place, which permits @view. */
int adsm_view_attach(struct adsm_object *object, enum adsm_prot view);
/* End the view, if there is one, of an object that is no longer known. Negative errno: the view could not be closed. */
int adsm_view_detach(struct adsm_object *object);
/* There are no mappings left for another purpose: close what may be closed, also of other homes. */
void adsm_home_recover(struct adsm_home *home);
