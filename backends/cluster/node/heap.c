/* SPDX-License-Identifier: MIT */
/*
 * heap.c - see heap.h. Sizes are powers of two, with 64 bytes for what is known of each: freed memory is for the next
 * one of its size.
 */
#include "heap.h"

#define HEAD 64				/* before what is given: its size, MARK ^ its place, the next free one */
#define FIRST 4096			/* where memory begins, behind the heap's own words */
#define MARK UINT64_C(0x9d5f2c81a7e3460b)
#define MIN_SHIFT 7

/* Words of the heap: bytes in use from FIRST on, then of each size the first that is free. */
static uint64_t word(uint64_t heap, uint64_t i)
{
	return heap + 8 * i;
}

static uint64_t get(struct adsm_store *store, uint64_t address)
{
	return store->get(store, address, 8);
}

static void put(struct adsm_store *store, uint64_t address, uint64_t value)
{
	store->put(store, address, 8, value);
}

uint64_t adsm_node_heap_alloc(struct adsm_store *store, uint64_t heap, uint64_t size)
{
	uint64_t shift = MIN_SHIFT, at, used;

	if (!size || size > ADSM_NODE_HEAP_SIZE)
		return 0;
	while ((uint64_t)1 << shift < size + HEAD)
		shift++;
	at = get(store, word(heap, shift));
	if (at) {
		put(store, word(heap, shift), get(store, at + 16));
	} else {
		used = get(store, word(heap, 0));
		if ((uint64_t)1 << shift > ADSM_NODE_HEAP_SIZE - FIRST - used)
			return 0;
		at = heap + FIRST + used;
		put(store, word(heap, 0), used + ((uint64_t)1 << shift));
	}
	put(store, at, shift);
	put(store, at + 8, MARK ^ at);
	return at + HEAD;
}

bool adsm_node_heap_free(struct adsm_store *store, uint64_t heap, uint64_t address)
{
	const uint64_t at = address - HEAD, offset = at - heap - FIRST;
	uint64_t shift;

	if (offset >= ADSM_NODE_HEAP_SIZE - FIRST || offset % HEAD || get(store, at + 8) != (MARK ^ at))
		return false;
	shift = get(store, at);
	put(store, at + 8, 0);
	put(store, at + 16, get(store, word(heap, shift)));
	put(store, word(heap, shift), at);
	return true;
}
