/* SPDX-License-Identifier: MIT */
/* index.h - from an address to its object: two loads, no lock, any address of the process. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os.h"

struct adsm_object;

int adsm_index_init(void);
/* Enter or remove the whole pages of an object. Callers are serialised. Objects are type-stable, but one that a
 * concurrent adsm_index_find() returned may have ended meanwhile: check it again under its home's lock. */
int adsm_index_insert(uintptr_t start, size_t size, struct adsm_object *object);
void adsm_index_remove(uintptr_t start, size_t size);
/* The first address from @start on that is in an object; @start + @size if there is none before it. */
uintptr_t adsm_index_next(uintptr_t start, size_t size);

/* ---- what a lookup needs */

#define ADSM_INDEX_SHIFT 21		/* an entry covers 2 MiB: empty, an object that fills it, or a leaf */
#define ADSM_INDEX_BITS 47		/* of addresses */
#define ADSM_INDEX_LEAF ((uintptr_t)1)	/* in an entry: it is a leaf */

struct adsm_index_leaf {		/* one entry for each page */
	_Atomic(struct adsm_object *) page[((uintptr_t)1 << ADSM_INDEX_SHIFT) / ADSM_PAGE_SIZE];
};

extern _Atomic uintptr_t *adsm_index_chunks __attribute__((visibility("hidden")));

static inline struct adsm_index_leaf *adsm_index_leaf_of(uintptr_t entry)
{
	return (struct adsm_index_leaf *)(entry & ~ADSM_INDEX_LEAF);
}

static inline struct adsm_object *adsm_index_find(uintptr_t address)
{
	uintptr_t entry;

	if (!adsm_index_chunks || address >> ADSM_INDEX_BITS)
		return NULL;
	entry = atomic_load_explicit(&adsm_index_chunks[address >> ADSM_INDEX_SHIFT], memory_order_acquire);
	if (!(entry & ADSM_INDEX_LEAF))
		return (struct adsm_object *)entry;
	address &= ((uintptr_t)1 << ADSM_INDEX_SHIFT) - 1;
	return atomic_load_explicit(&adsm_index_leaf_of(entry)->page[address / ADSM_PAGE_SIZE], memory_order_acquire);
}
