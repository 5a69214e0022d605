/* SPDX-License-Identifier: MIT */
/*
 * arena.h - the address range of all objects, one sparse file behind it, and its two mappings: the view
 * that applications use, closed but for what objects open of it, and the alias that only the library uses.
 *
 * The view is one mapping of the system's wherever it is closed, of objects or not: what is opened takes mappings,
 * and closing gives them back. That holds while all of it has the same flags. One is not: what is in a core file.
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
	int fd;				/* while devices are opened; then -1: the mappings are enough */
};

extern struct adsm_arena adsm_arena;

/* @address, @size: wanted, 0: the library chooses, the largest that there is room for. */
int adsm_arena_create(uintptr_t address, size_t size);
/*
 * Under a limit on address space (ulimit -v), where the library chooses: is one half as large to be tried? @error: of
 * what came after the arena, devices above all, which map as much again; 0: is too little left for the program?
 */
bool adsm_arena_is_too_large(int error);
/* Make the arena half as large; no range of it is taken. */
int adsm_arena_shrink(void);
/* The mappings stay. */
void adsm_arena_close_file(void);
void adsm_arena_destroy(void);
/* A driver does not give the range back: it stays reserved, and the next arena is elsewhere. */
void adsm_arena_leave(void);
/* In the child of a fork: keep the range reserved and closed. */
void adsm_arena_child(void);

/* A free range of whole pages, inaccessible; -ENOMEM when the arena is full. */
int adsm_arena_take(size_t size, uintptr_t *ret_start);
void adsm_arena_give(uintptr_t start, size_t size);
/* How much of a view has host pages, and is in the page table. */
enum adsm_pages { ADSM_PAGES_NONE, ADSM_PAGES_SOME, ADSM_PAGES_ALL };

/* The same with a closed view; also -ENOMEM where that cannot be closed. @ret_pages: those of a kept view. */
int adsm_arena_take_view(size_t size, uintptr_t *ret_start, enum adsm_pages *ret_pages);
/* Give a closed view back. With pages it is kept for the next view of its size, within limits (ADSM_KEEP). */
void adsm_arena_give_view(uintptr_t start, size_t size, enum adsm_pages pages);

/* Have the bytes of a range, taken without a view, no pages any more. */
void adsm_arena_discard(uintptr_t start, size_t size);
/* The process has no mappings left: all closed parts of the view become one mapping, which core files leave out. */
void adsm_arena_merge(void);							/* [signal] */

/* Is an address in the arena's range? Not of objects that lie where a driver wants them: place.c. */
static inline bool adsm_arena_has(uintptr_t address)
{
	return address - adsm_arena.base < adsm_arena.size;
}

static inline void *adsm_arena_alias(uintptr_t address)
{
	return adsm_arena.alias + (address - adsm_arena.base);
}

#endif
