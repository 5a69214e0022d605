/* SPDX-License-Identifier: MIT */
/* transfer.c - transfers, and the host pages that they need. */
#include "core/transfer.h"

#include "core/copier.h"
#include "core/observe.h"

struct transfer {
	struct adsm_object *object;
	enum adsm_direction direction;
	size_t offset, size;
	const struct adsm_cause *cause;
};

static int transfer_now(void *arg)
{
	const struct transfer *transfer = arg;
	struct adsm_object *object = transfer->object;
	enum adsm_direction direction = transfer->direction;
	size_t offset = transfer->offset, size = transfer->size;
	const struct adsm_backend *backend = object->home->device->backend;
	void *before = NULL;
	uint64_t start, ns;
	int error;

	/* In the copier: this transfer is for another thread. */
	if (adsm_observes(~0u) && transfer->cause != &adsm_cause)
		adsm_cause = *transfer->cause;
	if (direction == ADSM_TO_HOST && adsm_is_paged(object))
		before = adsm_observer->advice_fetch(object, NULL, offset, size, -1);
	start = adsm_os_now_ns();
	if (direction == ADSM_TO_HOST)
		error = backend->to_host(object->alias + offset, object->memory, offset, size, NULL);
	else
		error = backend->to_device(object->memory, offset, object->alias + offset, size, NULL);
	if (before)
		adsm_observer->advice_fetch(object, before, offset, size, !error);
	if (error)
		return error;
	ns = adsm_os_now_ns() - start;
	adsm_spent.moved_ns += ns;
	if (adsm_n_homes > 1)
		adsm_rate_add(object->home, direction, size, ns);
	adsm_note_transfer(object, direction, offset, size, start, ns);
	return 0;
}

/* Move bytes synchronously; the lock is not held. */
static int transfer_range(struct adsm_object *object, enum adsm_direction direction, size_t offset, size_t size)
{
	struct transfer transfer = { object, direction, offset, size, &adsm_cause };

	/* Unified memory has the bytes already: nothing moves, and nothing is counted. */
	if (object->home->device->caps.unified)
		return 0;
	return adsm_backend_run(object->home, transfer_now, &transfer);
}

int adsm_transfer(struct adsm_object *object, struct adsm_around around, enum adsm_direction direction, size_t at,
		  size_t end)
{
	size_t size;
	int error = 0;

	for (; !error && adsm_input_next_gap(object, &around, &at, end, &size); at += size) {
		adsm_unlock(&object->home->lock);
		error = transfer_range(object, direction, at, size);
		adsm_lock(&object->home->lock);
	}
	return error;
}

static int fetch(struct adsm_object *object, uint32_t first, uint32_t n)
{
	size_t start = (size_t)first << object->blocks.shift;
	uint64_t moved = adsm_spent.moved_ns;
	int error = adsm_transfer(object, (struct adsm_around){ 0 }, ADSM_TO_HOST, start,
				start + adsm_run_size(object, first, n));

	for (uint32_t b = first; object->inputs && !error && b < first + n; b++)
		if (adsm_input_is_in(object, b)) {
			object->blocks.at[b].flags |= ADSM_BLOCK_HOLED;
			object->blocks.at[b].holes_until = object->last_input;
		}
	adsm_habit_fetch(object, adsm_run_size(object, first, n), adsm_spent.moved_ns - moved);
	return error;
}

int adsm_run_send(struct adsm_object *object, uint32_t first, uint32_t n)
{
	struct adsm_home *home = object->home;
	int error = 0;

	object->version++;
	for (uint32_t end; !error && n; n -= end - first, first = end) {
		bool holed = object->blocks.at[first].flags & ADSM_BLOCK_HOLED;
		size_t start = (size_t)first << object->blocks.shift;

		for (end = first + 1; end < first + n && !holed; end++)
			if (object->blocks.at[end].flags & ADSM_BLOCK_HOLED)
				break;
		if (holed) {
			error = adsm_transfer(object, (struct adsm_around){ .holed = &object->blocks.at[first] },
					    ADSM_TO_DEVICE, start, start + adsm_run_size(object, first, 1));
			continue;
		}
		adsm_unlock(&home->lock);
		error = transfer_range(object, ADSM_TO_DEVICE, start, adsm_run_size(object, first, end - first));
		adsm_lock(&home->lock);
	}
	return error;
}

#define HUGE_FROM (ADSM_HUGE_PAGE_SIZE / 4)	/* bytes; a run from this size on is not a random access */

/* Give a run host pages. A long run gets whole huge pages, which may reach beyond its ends. Gives the lock away
 * meanwhile. */
static void give_pages(struct adsm_object *object, uint32_t first, uint32_t n)
{
	const size_t page = ADSM_HUGE_PAGE_SIZE, block = adsm_block_size(object);
	size_t start = (size_t)first << object->blocks.shift, size = adsm_run_span(object, first, n);
	size_t from = start & ~(page - 1), end = (start + size + page - 1) & ~(page - 1);
	bool huge;

	if (end > object->span)
		end = object->span & ~(page - 1);
	adsm_unlock(&object->home->lock);
	huge = size >= HUGE_FROM && from < end && adsm_os_huge(object->alias + from, end - from);
	adsm_os_populate(object->alias + start, size, true);
	adsm_lock(&object->home->lock);
	if (!huge)
		return;
	/* The small pages that were there are gone, also from the view. */
	first = (uint32_t)((from + block - 1) >> object->blocks.shift);
	n = (uint32_t)(end >> object->blocks.shift);
	if (first < n) {
		adsm_blocks_clear_flags(&object->blocks, first, n - first, ADSM_BLOCK_MAPPED);
		adsm_blocks_set_flags(&object->blocks, first, n - first, ADSM_BLOCK_BACKED);
	}
}

int adsm_run_fetch(struct adsm_object *object, const struct adsm_change *change)
{
	uint32_t first = change->first, n = change->n;
	int error = 0;

	if (!adsm_blocks_all_have(&object->blocks, first, n, ADSM_BLOCK_BACKED))
		give_pages(object, first, n);
	if (change->step.transfer == ADSM_TO_HOST)
		error = fetch(object, first, n);
	if (!error)
		adsm_blocks_set_flags(&object->blocks, first, n, ADSM_BLOCK_BACKED);
	return error;
}
