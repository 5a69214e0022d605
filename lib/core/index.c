/* SPDX-License-Identifier: MIT */
/* index.c - a sparse table with one entry for each 2 MiB of address space: empty, an object that fills it, or a leaf
 * with one entry for each page. Leaves are never freed, so readers need no protection. */
#include <errno.h>
#include <stdbool.h>

#include "core/index.h"

#define CHUNK ((uintptr_t)1 << ADSM_INDEX_SHIFT)

_Atomic uintptr_t *adsm_index_chunks;

int adsm_index_init(void)
{
	if (!adsm_index_chunks)
		adsm_index_chunks = adsm_os_table(sizeof(*adsm_index_chunks) << (ADSM_INDEX_BITS - ADSM_INDEX_SHIFT));
	return adsm_index_chunks ? 0 : -ENOMEM;
}

/* The leaf of a chunk; it is made if there is none. NULL: out of memory. */
static struct adsm_index_leaf *make_leaf(_Atomic uintptr_t *chunk)
{
	uintptr_t entry = atomic_load_explicit(chunk, memory_order_relaxed);
	struct adsm_index_leaf *leaf;

	if (entry & ADSM_INDEX_LEAF)
		return adsm_index_leaf_of(entry);
	leaf = adsm_os_table(sizeof(*leaf));
	if (!leaf)
		return NULL;
	atomic_store_explicit(chunk, (uintptr_t)leaf | ADSM_INDEX_LEAF, memory_order_release);
	return leaf;
}

static int set(uintptr_t start, size_t size, struct adsm_object *object)
{
	uintptr_t end = start + size, next;

	for (uintptr_t a = start; a < end; a = next) {
		_Atomic uintptr_t *chunk = &adsm_index_chunks[a >> ADSM_INDEX_SHIFT];
		uintptr_t entry = atomic_load_explicit(chunk, memory_order_relaxed);
		struct adsm_index_leaf *leaf;

		next = (a | (CHUNK - 1)) + 1;
		if (next > end)
			next = end;
		if (next - a == CHUNK && !(entry & ADSM_INDEX_LEAF)) {
			atomic_store_explicit(chunk, (uintptr_t)object, memory_order_release);
			continue;
		}
		leaf = make_leaf(chunk);
		if (!leaf)
			return -ENOMEM;
		for (uintptr_t p = a; p < next; p += ADSM_PAGE_SIZE)
			atomic_store_explicit(&leaf->page[(p & (CHUNK - 1)) / ADSM_PAGE_SIZE], object,
					      memory_order_release);
	}
	return 0;
}

int adsm_index_insert(uintptr_t start, size_t size, struct adsm_object *object)
{
	int error;

	if (start >> ADSM_INDEX_BITS || (start + size - 1) >> ADSM_INDEX_BITS)
		return -EINVAL;
	error = set(start, size, object);
	if (error)
		adsm_index_remove(start, size);
	return error;
}

void adsm_index_remove(uintptr_t start, size_t size)
{
	/* This cannot fail: a chunk that is partly in the range has a leaf, or never got an entry. */
	for (uintptr_t a = start; a < start + size; a += ADSM_PAGE_SIZE) {
		_Atomic uintptr_t *chunk = &adsm_index_chunks[a >> ADSM_INDEX_SHIFT];
		uintptr_t entry = atomic_load_explicit(chunk, memory_order_relaxed);

		if (entry & ADSM_INDEX_LEAF)
			atomic_store_explicit(&adsm_index_leaf_of(entry)->page[(a & (CHUNK - 1)) / ADSM_PAGE_SIZE],
					      NULL, memory_order_release);
		else {
			atomic_store_explicit(chunk, 0, memory_order_release);
			a = (a | (CHUNK - 1)) + 1 - ADSM_PAGE_SIZE;
		}
	}
}

uintptr_t adsm_index_next(uintptr_t start, size_t size)
{
	uintptr_t last = start + size - 1, limit = ((uintptr_t)1 << ADSM_INDEX_BITS) - 1, next = start;
	bool stop = !adsm_index_chunks || !size || start > limit;

	if (!stop && (last < start || last > limit))
		last = limit;
	while (!stop && next <= last) {
		_Atomic uintptr_t *chunk = &adsm_index_chunks[next >> ADSM_INDEX_SHIFT];
		uintptr_t entry = atomic_load_explicit(chunk, memory_order_acquire);

		if (entry && (!(entry & ADSM_INDEX_LEAF) || adsm_index_find(next)))
			return next;
		/* Addresses are far below UINTPTR_MAX, so these sums do not overflow. */
		next = (next | (entry ? ADSM_PAGE_SIZE - 1 : CHUNK - 1)) + 1;
	}
	return start + size;
}
