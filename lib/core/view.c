/* SPDX-License-Identifier: MIT */
/* view.c - opens and closes views, and gets mappings back if the process has none left. */
#include "core/view.h"

#include "base/log.h"
#include "core/arena.h"
#include "core/options.h"

_Static_assert((int)ADSM_PERMIT_READ == (int)ADSM_PROT_READ && (int)ADSM_PERMIT_WRITE == (int)ADSM_PROT_RW,
	       "views are what states permit");

static int close_bytes(struct adsm_object *object, size_t offset, size_t size)
{
	return adsm_is_paged(object) ? adsm_observer->advice_view(object, offset, size, ADSM_PROT_NONE) :
		adsm_permit(object, offset, size, ADSM_PROT_RW, ADSM_PROT_NONE);
}

void adsm_object_close_view(struct adsm_object *object)
{
	if (!close_bytes(object, 0, object->span))
		adsm_blocks_set_views(&object->blocks, 0, object->blocks.n, ADSM_PROT_NONE);
}

static bool is_shut(const struct adsm_object *object)
{
	for (uint32_t b = object->blocks.open_first; b < object->blocks.open_end; b++)
		if (object->blocks.at[b].view != ADSM_PROT_NONE)
			return false;
	return true;
}

/* Close all open views of a home that may be closed. Did that change anything? */
static bool close_views(struct adsm_home *home)
{
	bool any = false;

	for (struct adsm_object *o = home->open; o; o = o->open_next)
		if (o->blocks.detects && !o->blocks.n_holds && !is_shut(o)) {
			adsm_object_close_view(o);
			any |= is_shut(o);
		}
	return any;
}

/* If an object lies between open ones, closing it alone would take mappings: so the outer ones close first, and the
 * inner ones in the next round. */
static void close_everything(struct adsm_home *home)
{
	adsm_arena_merge();
	while (close_views(home))
		;
	/* Also those of other homes, but not of one that is locked: its thread may be waiting here for this home's
	 * lock. */
	for (int i = 0; i < adsm_n_homes; i++) {
		if (&adsm_homes[i] == home || !adsm_trylock(&adsm_homes[i].lock))
			continue;
		while (close_views(&adsm_homes[i]))
			;
		adsm_unlock(&adsm_homes[i].lock);
	}
}

/* The process has no mappings left: close whole objects, so that each is one mapping again; this object, or all. */
static void recover_mappings(struct adsm_object *object, bool all)
{
	if (!all && object->blocks.detects && !object->blocks.n_holds)
		adsm_object_close_view(object);
	if (all)
		close_everything(object->home);
}

void adsm_home_recover(struct adsm_home *home)
{
	struct adsm_sigset old;

	adsm_os_signals_block(&old);
	adsm_lock(&home->lock);
	close_everything(home);
	adsm_unlock(&home->lock);
	adsm_os_signals_restore(&old);
}

/* Does each write have to fault? At the next call it would be too late to find it in these cases: the CPU and the
 * device have the same bytes; the write may be refused; advice asks which pages are used. */
static bool is_exact(const struct adsm_object *object)
{
	const struct adsm_blocks *blocks = &object->blocks;
	bool exact = !blocks->detects || object->home->device->caps.unified || adsm_observes(ADSM_OBSERVE_PAGES) ||
		adsm_core_options.touch == ADSM_TOUCH_ERROR;

	for (unsigned state = 0; state < blocks->protocol->n_states; state++)
		exact |= blocks->protocol->steps[state][ADSM_EVENT_WRITE].result == ADSM_RESULT_REFUSE;
	return exact;
}

static int attach(struct adsm_object *object, enum adsm_prot view)
{
	void *start = (void *)object->start;
	int error = adsm_engine->attach(start, object->span, is_exact(object));

	if (error)
		return error;
	if (view != ADSM_PROT_NONE)
		error = adsm_engine->permit(start, object->span, ADSM_PROT_NONE, view);
	if (error)
		adsm_engine->detach(start, object->span);
	else
		object->engine = adsm_engine;
	return error;
}

int adsm_view_attach(struct adsm_object *object, enum adsm_prot view)
{
	int error, tries = 0;

	while ((error = attach(object, view)) == -ENOMEM && !tries++)
		adsm_home_recover(object->home);
	return error ? adsm_fail(error, "cannot open %zu bytes: no mappings are left (vm.max_map_count)",
				 object->span) : 0;
}

int adsm_view_detach(struct adsm_object *object)
{
	const struct adsm_engine *engine = object->engine;
	void *start = (void *)object->start;
	int error, tries = 0;

	if (!engine)
		return 0;
	while ((error = engine->permit(start, object->span, ADSM_PROT_RW, ADSM_PROT_NONE)) == -ENOMEM && !tries++)
		adsm_home_recover(object->home);
	if (error)
		adsm_warn("cannot close %zu bytes at %p: error %d", object->span, start, error);
	engine->detach(start, object->span);
	object->engine = NULL;
	adsm_limits_drop(object);
	if (atomic_exchange(&object->locked, false))
		adsm_os_unlock(object->alias, object->span);
	return error;
}

int adsm_view_retry(struct adsm_object *object, uint32_t first, uint32_t n, enum adsm_prot view)
{
	int error = -ENOMEM;

	for (int all = 0; error == -ENOMEM && all <= 1; all++) {
		recover_mappings(object, all);
		error = object->blocks.at[first].view == view ? 0 : adsm_view_change(object, first, n, view);
	}
	return error;
}

/* @ret_view, @ret_limit: the view of the block, and the limit, at @offset. Returns the number of bytes from @offset on
 * that have both. */
static size_t alike(const struct adsm_object *object, size_t offset, size_t end, enum adsm_prot *ret_view,
		    enum adsm_prot *ret_limit)
{
	size_t limited = adsm_limits_run(object, offset, end, ret_limit), at = offset;

	end = offset + limited;
	*ret_view = object->blocks.at[offset >> object->blocks.shift].view;
	do
		at = (at | (adsm_block_size(object) - 1)) + 1;
	while (at < end && object->blocks.at[at >> object->blocks.shift].view == *ret_view);
	return (at < end ? at : end) - offset;
}

/* Change the view from the noted limits to @limit; with @back, from @limit back to the noted limits. */
static int change_limits(struct adsm_object *object, size_t offset, size_t end, enum adsm_prot limit, bool back)
{
	int error = 0;

	for (size_t at = offset, n; !error && at < end; at += n) {
		enum adsm_prot view, old, was, now;

		n = alike(object, at, end, &view, &old);
		was = view < old ? view : old;
		now = view < limit ? view : limit;
		if (was != now)
			error = object->engine->permit((char *)object->start + at, n, back ? now : was,
						       back ? was : now);
		if (error && !back)
			change_limits(object, offset, at, limit, true);
	}
	return error;
}

static int try_limit(struct adsm_object *object, size_t offset, size_t size, enum adsm_prot limit)
{
	/* If pages are opened one by one, close them: the next use of each opens it again. */
	int error = adsm_is_paged(object) ? close_bytes(object, offset, size) :
		change_limits(object, offset, offset + size, limit, false);

	if (!error)
		adsm_limits_set(object, offset, size, limit);
	return error;
}

int adsm_view_limit(struct adsm_object *object, size_t offset, size_t size, enum adsm_prot limit)
{
	int error = 0;

	if (limit == ADSM_PROT_RW && !adsm_is_limited(object))
		return 0;
	/* The engine would let the program's write pass without a fault. */
	if (limit == ADSM_PROT_READ && object->engine->passes_writes && !is_exact(object))
		return -ENOTSUP;
	error = adsm_limits_make(object);
	if (!error)
		error = try_limit(object, offset, size, limit);
	if (error == -ENOMEM && adsm_is_limited(object)) {
		recover_mappings(object, true);
		error = try_limit(object, offset, size, limit);
	}
	adsm_limits_tidy(object);
	return error;
}

/* One call for the whole open range, with any number of blocks. */
int adsm_object_close(struct adsm_object *object)
{
	uint32_t first = object->blocks.open_first, end = object->blocks.open_end;
	int error;

	if (!object->blocks.detects)
		return 0;
	while (first < end && object->blocks.at[first].view == ADSM_PROT_NONE)
		first++;
	while (first < end && object->blocks.at[end - 1].view == ADSM_PROT_NONE)
		end--;
	if (first == end)
		return 0;
	error = close_bytes(object, (size_t)first << object->blocks.shift, adsm_run_span(object, first, end - first));
	if (error == -ENOMEM) {
		/* If its neighbours are closed, there is no mapping to split. */
		recover_mappings(object, true);
		error = close_bytes(object, 0, object->span);
	}
	if (!error)
		adsm_blocks_set_views(&object->blocks, first, end - first, ADSM_PROT_NONE);
	return error;
}

static bool may_close(const struct adsm_object *object)
{
	return object->blocks.detects && !object->assigned && !object->blocks.n_holds &&
		!adsm_is_paged(object);
}

void adsm_close_neighbours(struct adsm_home *home)
{
	struct adsm_object *object = home->open, *next;

	for (; object; object = next) {
		uintptr_t start = object->start, end = start + object->span;

		next = object->open_next;
		if (!may_close(object))
			continue;
		/* The list is in the order in which objects were opened, so each mostly lies next to the one before. */
		while (next && may_close(next) && next->engine == object->engine &&
		       (next->start + next->span == start || next->start == end)) {
			start = next->start < start ? next->start : start;
			end = next->start + next->span > end ? next->start + next->span : end;
			next = next->open_next;
		}
		if (next == object->open_next ||
		    object->engine->permit((void *)start, end - start, ADSM_PROT_RW, ADSM_PROT_NONE))
			continue;
		for (; object != next; object = object->open_next)
			adsm_blocks_set_views(&object->blocks, object->blocks.open_first,
				  object->blocks.open_end - object->blocks.open_first, ADSM_PROT_NONE);
	}
}
