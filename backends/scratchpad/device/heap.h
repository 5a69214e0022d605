/* SPDX-License-Identifier: MIT */
/* heap.h - memory of malloc() in a local store: a range of bytes, divided into blocks. One thread at a time uses it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct adsm_heap {
	uint8_t *base;			/* aligned to 16 bytes */
	size_t size;			/* a multiple of 16 bytes */
	size_t n_used;			/* blocks in use */
};

/* Returns memory aligned to 16 bytes; NULL: there is not enough, or @size is 0. */
void *adsm_heap_alloc(struct adsm_heap *heap, size_t size);
/* NULL and memory of others are ignored. */
void adsm_heap_free(struct adsm_heap *heap, void *p);
