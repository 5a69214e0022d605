/* SPDX-License-Identifier: MIT */
/*
 * index.c - a sparse table with one entry per 2 MiB of address space: nothing, an object that has it
 * all, or a leaf with one entry per page. Leaves stay for good, so readers need no protection.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/index.h"
#include "base/os.h"

#define CHUNK_SHIFT 21
#define CHUNK ((uintptr_t)1 << CHUNK_SHIFT)
#define PAGES_PER_CHUNK (CHUNK / ADSM_PAGE_SIZE)
#define ADDRESS_BITS 47
#define IS_LEAF ((uintptr_t)1)

struct leaf {
	_Atomic(struct adsm_object *) page[PAGES_PER_CHUNK];
};

static _Atomic uintptr_t *chunks;

int adsm_index_init(void)
{
	if (!chunks)
		chunks = adsm_os_table(sizeof(*chunks) << (ADDRESS_BITS - CHUNK_SHIFT));
	return chunks ? 0 : -ENOMEM;
}

static struct leaf *leaf_of(uintptr_t entry)
{
	return (struct leaf *)(entry & ~IS_LEAF);
}

/* The leaf of a chunk, made where there is none; NULL when out of memory. */
static struct leaf *make_leaf(_Atomic uintptr_t *chunk)
{
	uintptr_t entry = atomic_load_explicit(chunk, memory_order_relaxed);
	struct leaf *leaf;

	if (entry & IS_LEAF)
		return leaf_of(entry);
	leaf = adsm_os_table(sizeof(*leaf));
	if (!leaf)
		return NULL;
	atomic_store_explicit(chunk, (uintptr_t)leaf | IS_LEAF, memory_order_release);
	return leaf;
}

static int set(uintptr_t start, size_t size, struct adsm_object *object)
{
	uintptr_t end = start + size, next;

	for (uintptr_t a = start; a < end; a = next) {
		_Atomic uintptr_t *chunk = &chunks[a >> CHUNK_SHIFT];
		uintptr_t entry = atomic_load_explicit(chunk, memory_order_relaxed);
		struct leaf *leaf;

		next = (a | (CHUNK - 1)) + 1;
		if (next > end)
			next = end;
		if (next - a == CHUNK && !(entry & IS_LEAF)) {
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

	if (start >> ADDRESS_BITS || (start + size - 1) >> ADDRESS_BITS)
		return -EINVAL;
	error = set(start, size, object);
	if (error)
		adsm_index_remove(start, size);
	return error;
}

void adsm_index_remove(uintptr_t start, size_t size)
{
	/* Cannot fail: a chunk that is partly in the range has its leaf, or never got an entry. */
	for (uintptr_t a = start; a < start + size; a += ADSM_PAGE_SIZE) {
		_Atomic uintptr_t *chunk = &chunks[a >> CHUNK_SHIFT];
		uintptr_t entry = atomic_load_explicit(chunk, memory_order_relaxed);

		if (entry & IS_LEAF)
			atomic_store_explicit(&leaf_of(entry)->page[(a & (CHUNK - 1)) / ADSM_PAGE_SIZE],
					      NULL, memory_order_release);
		else {
			atomic_store_explicit(chunk, 0, memory_order_release);
			a = (a | (CHUNK - 1)) + 1 - ADSM_PAGE_SIZE;
		}
	}
}

struct adsm_object *adsm_index_find(uintptr_t address)
{
	uintptr_t entry;

	if (!chunks || address >> ADDRESS_BITS)
		return NULL;
	entry = atomic_load_explicit(&chunks[address >> CHUNK_SHIFT], memory_order_acquire);
	if (!(entry & IS_LEAF))
		return (struct adsm_object *)entry;
	return atomic_load_explicit(&leaf_of(entry)->page[(address & (CHUNK - 1)) / ADSM_PAGE_SIZE],
				    memory_order_acquire);
}

uintptr_t adsm_index_next(uintptr_t start, size_t size)
{
	uintptr_t last = start + size - 1, limit = ((uintptr_t)1 << ADDRESS_BITS) - 1, next = start;
	bool stop = !chunks || !size || start > limit;

	if (!stop && (last < start || last > limit))
		last = limit;
	while (!stop && next <= last) {
		uintptr_t entry = atomic_load_explicit(&chunks[next >> CHUNK_SHIFT], memory_order_acquire);

		if (entry && (!(entry & IS_LEAF) || adsm_index_find(next)))
			return next;
		/* Addresses stay far below the largest number, so these sums are none too large. */
		next = (next | (entry ? ADSM_PAGE_SIZE - 1 : CHUNK - 1)) + 1;
	}
	return start + size;
}
