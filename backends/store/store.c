/* SPDX-License-Identifier: MIT */
/* store.c - see store.h. */
#include "store.h"

#include <string.h>

#define MOVED 64			/* bytes of each step of a copy within device memory */

uint64_t adsm_store_get(struct adsm_store *store, uint64_t address, uint64_t size)
{
	uint64_t value = 0;

	store->read(store, address, &value, size);
	return value;
}

void adsm_store_put(struct adsm_store *store, uint64_t address, uint64_t size, uint64_t value)
{
	store->write(store, address, &value, size);
}

void adsm_store_move(struct adsm_store *store, uint64_t to, uint64_t from, uint64_t size)
{
	uint8_t bytes[MOVED];
	uint64_t done = 0;

	for (uint64_t n; done < size; done += n) {
		uint64_t at = done;

		n = size - done < MOVED ? size - done : MOVED;
		/* If the ranges overlap this way, copy backwards. */
		if (to > from)
			at = size - done - n;
		store->read(store, from + at, bytes, n);
		store->write(store, to + at, bytes, n);
	}
}

void adsm_store_fill(struct adsm_store *store, uint64_t to, uint64_t byte, uint64_t size)
{
	uint8_t bytes[MOVED];

	memset(bytes, (int)byte, sizeof(bytes));
	for (uint64_t n; size; to += n, size -= n) {
		n = size < MOVED ? size : MOVED;
		store->write(store, to, bytes, n);
	}
}
