/* SPDX-License-Identifier: MIT */
/*
 * arena.h - the address range of all objects, the sparse file behind it, and its two mappings: the view, which the
 * program uses and which is closed except where objects open it, and the alias, which only the library uses.
 *
 * Wherever the view is closed it is one mapping of the system, whether objects lie there or not. An open part takes
 * further mappings, and gives them back when it is closed. This holds only while all of the view has the same flags.
 * One flag differs: whether a range is in core files (adsm_arena_merge()).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adsm_arena {
	uintptr_t base;			/* of the views */
	size_t size;
	char *alias;			/* alias - base is the same for every byte */
	int fd;				/* -1 once the devices are open: then the mappings are enough */
};

extern struct adsm_arena adsm_arena;

/* @address, @size: 0 lets the library choose; it takes the largest size that there is room for. */
int adsm_arena_create(uintptr_t address, size_t size);
/*
 * Under a limit on address space (ulimit -v), and if the library chooses the size: is an arena of half the size to be
 * tried? @error: the error of what was made after the arena, mostly of devices, which map as much again; 0: nothing
 * failed, but is enough left for the program?
 */
bool adsm_arena_is_too_large(int error);
/* Make the arena half as large; no range of it may be in use. */
int adsm_arena_shrink(void);
/* The mappings stay. */
void adsm_arena_close_file(void);
void adsm_arena_destroy(void);
/* A driver does not give the range back: it stays reserved at the end, and the next arena gets another range. */
void adsm_arena_leave(void);
/* In the child of a fork: keep the range reserved and closed. */
void adsm_arena_child(void);

/* Take a free range of whole pages, inaccessible; -ENOMEM if the arena is full. */
int adsm_arena_take(size_t size, uintptr_t *ret_start);
void adsm_arena_give(uintptr_t start, size_t size);
/* How much of a view has host pages, and is in the page table. */
enum adsm_pages { ADSM_PAGES_NONE, ADSM_PAGES_SOME, ADSM_PAGES_ALL };

/* Take a range with a closed view; also -ENOMEM if the view cannot be closed. @ret_pages: the pages that a kept view
 * already has. */
int adsm_arena_take_view(size_t size, uintptr_t *ret_start, enum adsm_pages *ret_pages);
/* Give a closed view back. If it has pages, it is kept for the next view of its size, within limits (ADSM_KEEP). */
void adsm_arena_give_view(uintptr_t start, size_t size, enum adsm_pages pages);

/* Give the pages of a range back to the system. No view of the range is in use. */
void adsm_arena_discard(uintptr_t start, size_t size);
/* The process has no mappings left: leave all objects out of core files, so that all closed parts of the view become
 * one mapping. */
void adsm_arena_merge(void);							/* [signal] */

/* Is an address in the arena's range? Objects whose address a driver dictates are outside of it: place.c. */
static inline bool adsm_arena_has(uintptr_t address)
{
	return address - adsm_arena.base < adsm_arena.size;
}

static inline void *adsm_arena_alias(uintptr_t address)
{
	return adsm_arena.alias + (address - adsm_arena.base);
}
