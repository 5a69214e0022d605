/* SPDX-License-Identifier: MIT */
/* paged.c - the pages of a view: which are open, and how many mappings that costs. */
#include "observe/paged.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/block.h"
#include "core/view.h"
#include "observe/record.h"

#define MAPPINGS_MAX 24000		/* mappings that opened pages may cost in
					   all; a process usually may have 65530 */

static _Atomic size_t n_mappings;
static _Thread_local struct adsm_touch touched;

/* ---- life */

struct adsm_paged *adsm_paged_make(const struct adsm_object *object)
{
	struct adsm_paged *pages = calloc(1, sizeof(*pages));

	if (!pages)
		return NULL;
	pages->n = object->span / ADSM_PAGE_SIZE;
	pages->views = malloc(pages->n);
	if (!pages->views) {
		free(pages);
		return NULL;
	}
	memset(pages->views, object->blocks.at[0].view, pages->n);
	return pages;
}

void adsm_paged_forget(struct adsm_paged *pages)
{
	free(pages->views);
	pages->views = NULL;
	atomic_fetch_sub(&n_mappings, pages->n_mappings);
	pages->n_mappings = 0;
}

void adsm_paged_end(struct adsm_paged *pages)
{
	if (pages)
		adsm_paged_forget(pages);
	free(pages);
}

/* ---- pages */

/* The number of changes of the view between neighbouring pages, from the page before @first to the one after @n
 * pages. */
static size_t count_edges(const struct adsm_paged *pages, size_t first, size_t n)
{
	size_t end = first + n < pages->n ? first + n : pages->n - 1, edges = 0;

	for (size_t p = first ? first - 1 : 0; p < end; p++)
		edges += pages->views[p] != pages->views[p + 1];
	return edges;
}

static void set_pages(struct adsm_paged *pages, size_t first, size_t n, enum adsm_prot view)
{
	size_t before = count_edges(pages, first, n), after;

	memset(pages->views + first, view, n);
	after = count_edges(pages, first, n);
	pages->n_mappings += after - before;
	atomic_fetch_add(&n_mappings, after - before);
}

static int open_pages(struct adsm_object *object, size_t first, size_t n, enum adsm_prot view)
{
	struct adsm_paged *pages = object->record->pages;
	int error = adsm_permit(object, first * ADSM_PAGE_SIZE, n * ADSM_PAGE_SIZE, pages->views[first], view);

	if (!error)
		set_pages(pages, first, n, view);
	return error;
}

static int close_pages(struct adsm_object *object, size_t first, size_t n)
{
	int error = adsm_permit(object, first * ADSM_PAGE_SIZE, n * ADSM_PAGE_SIZE, ADSM_PROT_RW, ADSM_PROT_NONE);

	if (!error)
		set_pages(object->record->pages, first, n, ADSM_PROT_NONE);
	return error;
}

static int open_touched(struct adsm_object *object)
{
	if (atomic_load_explicit(&n_mappings, memory_order_relaxed) >= MAPPINGS_MAX)
		return -ENOMEM;
	return open_pages(object, touched.page, 1, touched.write ? ADSM_PROT_RW : ADSM_PROT_READ);
}

/* The process has too many mappings for single pages. From here on blocks are opened as a whole, as without advice. */
static void give_up(struct adsm_object *object)
{
	struct adsm_paged *pages = object->record->pages;

	adsm_info("no advice on blocks for %s (%zu bytes): the CPU uses too many separate pages of it to "
		  "watch each of them", ADSM_THE_OBJECT(object), object->size);
	pages->whole = true;
	atomic_store(&pages->unseen, true);
	adsm_act_inexact(object);
	if (!object->blocks.n_holds)
		adsm_object_close_view(object);
}

/* Make writable pages of a range read-only. */
static int lower_pages(struct adsm_object *object, size_t first, size_t n)
{
	struct adsm_paged *pages = object->record->pages;
	size_t end = first + n, size;

	for (; first < end; first += size ? size : 1) {
		int error = 0;

		for (size = 0; first + size < end && pages->views[first + size] == ADSM_PROT_RW; size++)
			;
		if (size)
			error = adsm_permit(object, first * ADSM_PAGE_SIZE, size * ADSM_PAGE_SIZE, ADSM_PROT_RW,
					    ADSM_PROT_READ);
		/* A page that was closed before now only faults once more. */
		if (error)
			return error;
		if (size)
			set_pages(pages, first, size, ADSM_PROT_READ);
	}
	return 0;
}

/* ---- what views permit */

int adsm_paged_view(struct adsm_object *object, size_t offset, size_t size, enum adsm_prot view)
{
	struct adsm_paged *pages = object->record->pages;
	size_t first = offset / ADSM_PAGE_SIZE, n = size / ADSM_PAGE_SIZE;
	int error;

	if (view == ADSM_PROT_NONE)
		return close_pages(object, first, n);
	if (object->blocks.at[offset >> object->blocks.shift].view > view)
		return lower_pages(object, first, n);
	if (touched.in_fault && !pages->whole) {
		error = open_touched(object);
		if (error != -ENOMEM)
			return error;
		give_up(object);
	}
	atomic_store(&pages->unseen, true);
	return open_pages(object, first, n, view);
}

static void pages_of(const struct adsm_object *object, uint32_t b, size_t *ret_first, size_t *ret_n)
{
	size_t start = (size_t)b << object->blocks.shift, size = object->span - start;

	if (size > adsm_block_size(object))
		size = adsm_block_size(object);
	*ret_first = start / ADSM_PAGE_SIZE;
	*ret_n = size / ADSM_PAGE_SIZE;
}

int adsm_paged_hold(struct adsm_object *object, uint32_t b, bool begins)
{
	size_t first, n;

	pages_of(object, b, &first, &n);
	if (begins)
		return open_pages(object, first, n, object->blocks.at[b].view);
	if (!object->record->pages->whole)
		close_pages(object, first, n);
	return 0;
}

int adsm_paged_watch(struct adsm_object *object, size_t offset, size_t size)
{
	size_t first = offset / ADSM_PAGE_SIZE, last = (offset + size - 1) / ADSM_PAGE_SIZE;

	return object->record->pages->whole || object->blocks.n_holds ? 0 :
		close_pages(object, first, last - first + 1);
}

/* ---- faults */

bool adsm_paged_touch(struct adsm_object *object, uintptr_t address, bool write)
{
	unsigned needed = write ? ADSM_PROT_RW : ADSM_PROT_READ;
	size_t offset = address - object->start;
	uint32_t b = (uint32_t)(offset >> object->blocks.shift);

	touched = (struct adsm_touch){ .in_fault = true, .page = offset / ADSM_PAGE_SIZE, .write = write };
	/* The block must be opened; or another thread has opened the page. */
	if (object->blocks.at[b].view < needed || object->record->pages->views[touched.page] >= needed)
		return false;
	if (!open_touched(object))
		return true;
	give_up(object);
	/* A block that is still open is held. */
	return object->blocks.at[b].view >= needed && !adsm_paged_hold(object, b, true);
}

const struct adsm_touch *adsm_paged_touched(void)
{
	return &touched;
}

void adsm_paged_served(void)
{
	touched.in_fault = false;
}
