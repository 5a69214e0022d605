/* SPDX-License-Identifier: MIT */
/* arena.c - see arena.h. */
#include "arena.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN 16
#define FIRST ((size_t)1 << 12)
#define LARGEST ((size_t)1 << 18)

struct adsm_ptx_chunk {
	struct adsm_ptx_chunk *next;
	void *memory;			/* that the arena took over, or NULL: it follows */
};

_Static_assert(sizeof(struct adsm_ptx_chunk) % ALIGN == 0, "what follows a chunk is aligned");

void adsm_ptx_arena_finish(struct adsm_ptx_arena *arena)
{
	while (arena->chunks) {
		struct adsm_ptx_chunk *chunk = arena->chunks;

		arena->chunks = chunk->next;
		free(chunk->memory);
		free(chunk);
	}
}

static struct adsm_ptx_chunk *add(struct adsm_ptx_arena *arena, size_t size)
{
	struct adsm_ptx_chunk *chunk = malloc(sizeof(*chunk) + size);

	if (!chunk)
		return NULL;
	chunk->next = arena->chunks;
	chunk->memory = NULL;
	arena->chunks = chunk;
	return chunk;
}

void *adsm_ptx_arena_alloc(struct adsm_ptx_arena *arena, size_t n, size_t size)
{
	struct adsm_ptx_chunk *chunk;
	size_t bytes;
	void *memory;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + !bytes + ALIGN - 1) / ALIGN * ALIGN;
	if (bytes > arena->left) {
		size_t room = arena->next ? arena->next : FIRST;

		/* What is large gets a chunk of its own, so that no other is left half empty. */
		if (bytes > room / 4) {
			chunk = add(arena, bytes);
			return chunk ? memset(chunk + 1, 0, bytes) : NULL;
		}
		chunk = add(arena, room);
		if (!chunk)
			return NULL;
		arena->at = (char *)(chunk + 1);
		arena->left = room;
		arena->next = room < LARGEST ? room * 2 : LARGEST;
	}
	memory = memset(arena->at, 0, bytes);
	arena->at += bytes;
	arena->left -= bytes;
	return memory;
}

int adsm_ptx_arena_adopt(struct adsm_ptx_arena *arena, void *memory)
{
	struct adsm_ptx_chunk *chunk = add(arena, 0);

	if (!chunk)
		return -ENOMEM;
	chunk->memory = memory;
	return 0;
}
