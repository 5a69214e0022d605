/* SPDX-License-Identifier: MIT */
/*
 * kept.h - the table of kept memory: device memory of freed objects, with its place on the CPU's side, for new objects
 * of the same size. Memory is kept if the driver is slow to free and allocate (caps.keeps), up to ADSM_KEEP bytes for
 * each device. place.c frees it. The mutex of objects.c serialises all of this except adsm_kept_size().
 */
#pragma once

#include "core/arena.h"
#include "core/home.h"

/* Frees the program's own memory at an address; given by the wrappers of its driver. */
typedef void adsm_kept_free(uintptr_t start);

struct adsm_kept {
	struct adsm_home *home;
	struct adsm_memory *memory;
	uintptr_t start;
	size_t span;
	char *alias;
	adsm_kept_free *driver_free;	/* for the program's own memory; NULL: it is the library's memory */
	enum adsm_pages pages;
	bool device_only, chunked;	/* as in its object */
};

/* false: the table is full, or ADSM_KEEP does not permit it. */
bool adsm_kept_put(const struct adsm_kept *kept);
/* Take the youngest entry that fits. @own: the library's memory; else the program's. */
bool adsm_kept_take(const struct adsm_home *home, size_t span, bool device_only, bool own, struct adsm_kept *ret_kept);
/* Take the oldest entry of a home; @home NULL: of any home. */
bool adsm_kept_take_oldest(const struct adsm_home *home, struct adsm_kept *ret_kept);
/* Entry number @i; NULL: there are fewer. */
const struct adsm_kept *adsm_kept_at(size_t i);
/* Bytes that are kept for a home; any thread. */
size_t adsm_kept_size(const struct adsm_home *home);
