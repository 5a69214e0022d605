/* SPDX-License-Identifier: MIT */
/*
 * views.c - copies and fills by libc on views.
 *
 * The order of libc's accesses depends on its version, on the processor, and on the addresses. Which bytes the library
 * transfers must not depend on that. So libc gets the work block by block. Within a block it first reads, then writes.
 */
#include "run/copy/views.h"

#include "core/object.h"
#include "core/index.h"
#include "core/shared.h"
#include "core/observe.h"

/* How many of the bytes from @p on lie in one block; or in one page, if advice watches single pages. */
static size_t together(const char *p, size_t size)
{
	const struct adsm_object *object;
	size_t unit = ADSM_PAGE_SIZE, offset = (uintptr_t)p, rest;

	if (!adsm_may_be_shared(p, size))
		return size;
	object = adsm_index_find((uintptr_t)p);
	if (object) {
		offset -= object->start;
		unit = adsm_observes(ADSM_OBSERVE_PAGES) ? ADSM_PAGE_SIZE : adsm_block_size(object);
	}
	rest = unit - (offset & (unit - 1));
	return size < rest ? size : rest;
}

static bool in_one_page(const void *p, size_t size)
{
	return (uintptr_t)p / ADSM_PAGE_SIZE == ((uintptr_t)p + size - 1) / ADSM_PAGE_SIZE;
}

void adsm_views_move(char *dst, const char *src, size_t size, void *(*libc)(void *, const void *, size_t))
{
	bool overlap = dst < src + size && src < dst + size;

	if (overlap || (in_one_page(dst, size) && in_one_page(src, size))) {
		libc(dst, src, size);
		return;
	}
	for (size_t at = 0, n; at < size; at += n) {
		n = together(src + at, together(dst + at, size - at));
		libc(dst + at, src + at, n);
	}
}

void adsm_views_set(char *dst, int value, size_t size, void *(*libc)(void *, int, size_t))
{
	if (in_one_page(dst, size)) {
		libc(dst, value, size);
		return;
	}
	for (size_t at = 0, n; at < size; at += n) {
		n = together(dst + at, size - at);
		libc(dst + at, value, n);
	}
}
