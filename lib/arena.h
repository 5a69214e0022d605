/* SPDX-License-Identifier: MIT */
/*
 * arena.h - the address range of all objects, one sparse file behind it, and its two mappings: the view
 * that applications use, mapped object by object, and the alias that only the library uses.
 */
#ifndef ADSM_ARENA_H
#define ADSM_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adsm_arena {
	uintptr_t base;			/* of the views */
	size_t size;
	char *alias;			/* alias - base is the same for every byte */
	int fd;
};

extern struct adsm_arena adsm_arena;

/* @address, @size: wanted, 0: the library chooses. */
int adsm_arena_create(uintptr_t address, size_t size);
void adsm_arena_destroy(void);
/* In the child of a fork: keep the range reserved and closed. */
void adsm_arena_child(void);

/* A free range of whole pages, inaccessible; -ENOMEM when the arena is full. */
int adsm_arena_take(size_t size, uintptr_t *ret_start);
void adsm_arena_give(uintptr_t start, size_t size);
/* How much of a view has host pages, and is in the page table. */
enum adsm_pages { ADSM_PAGES_NONE, ADSM_PAGES_SOME, ADSM_PAGES_ALL };

/* The same with a view of it that permits @prot (enum adsm_prot); also -ENOMEM where it cannot be mapped.
 * @ret_pages: those of a kept one. */
int adsm_arena_take_view(size_t size, int prot, uintptr_t *ret_start, enum adsm_pages *ret_pages);
/* A view with pages is kept for the next one of its size, within limits (ADSM_KEEP). */
void adsm_arena_give_view(uintptr_t start, size_t size, enum adsm_pages pages);

/* Is an address in the arena's range? Not of objects that lie where a driver wants them: object.c. */
static inline bool adsm_arena_has(uintptr_t address)
{
	return address - adsm_arena.base < adsm_arena.size;
}

static inline void *adsm_arena_alias(uintptr_t address)
{
	return adsm_arena.alias + (address - adsm_arena.base);
}

#endif
