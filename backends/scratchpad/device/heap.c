/* SPDX-License-Identifier: MIT */
/* heap.c - see heap.h. A block begins with its size. A search for memory joins free blocks beside each other. */
#include "heap.h"

#include <stdbool.h>

#define UNIT 16

struct block {
	size_t size;			/* with this structure */
	size_t used;
	uint8_t bytes[];
};

static struct block *at(const struct adsm_heap *heap, size_t offset)
{
	return (struct block *)(void *)(heap->base + offset);
}

/* Join the free blocks from @offset on. */
static struct block *join(const struct adsm_heap *heap, size_t offset)
{
	struct block *block = at(heap, offset);

	while (!block->used && offset + block->size < heap->size && !at(heap, offset + block->size)->used)
		block->size += at(heap, offset + block->size)->size;
	return block;
}

void *adsm_heap_alloc(struct adsm_heap *heap, size_t size)
{
	const size_t needed = sizeof(struct block) + ((size + UNIT - 1) & ~(size_t)(UNIT - 1));

	if (!size || needed < size || needed > heap->size)
		return NULL;
	if (!heap->n_used)
		*at(heap, 0) = (struct block){ .size = heap->size };
	for (size_t offset = 0; offset < heap->size; offset += at(heap, offset)->size) {
		struct block *block = join(heap, offset);

		if (block->used || block->size < needed)
			continue;
		if (block->size - needed >= sizeof(*block)) {
			*at(heap, offset + needed) = (struct block){ .size = block->size - needed };
			block->size = needed;
		}
		block->used = 1;
		heap->n_used++;
		return block->bytes;
	}
	return NULL;
}

void adsm_heap_free(struct adsm_heap *heap, void *p)
{
	const uintptr_t base = (uintptr_t)heap->base, address = (uintptr_t)p;

	if (!heap->n_used || address < base + sizeof(struct block) || address >= base + heap->size)
		return;
	at(heap, address - base - sizeof(struct block))->used = 0;
	heap->n_used--;
}
