/* SPDX-License-Identifier: MIT */
/* arena.h - memory that is freed at one time: all of the tree of a module. */
#pragma once

#include <stddef.h>

struct adsm_ptx_chunk;

struct adsm_ptx_arena {
	struct adsm_ptx_chunk *chunks;
	char *at;			/* free memory of the first chunk */
	size_t left;
	size_t next;			/* bytes of the next chunk */
};

void adsm_ptx_arena_finish(struct adsm_ptx_arena *arena);
/* Zeroed memory for @n elements of @size bytes; NULL: there is none. A result for no elements is not NULL. */
void *adsm_ptx_arena_alloc(struct adsm_ptx_arena *arena, size_t n, size_t size);
/* Take over memory of malloc(). Returns 0, -ENOMEM: it still is the caller's. */
int adsm_ptx_arena_adopt(struct adsm_ptx_arena *arena, void *memory);
