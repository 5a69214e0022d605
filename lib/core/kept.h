/* SPDX-License-Identifier: MIT */
/*
 * kept.h - which memory of freed objects is kept for new ones of the same size, with its place on the CPU's side: where
 * the driver takes long to free and to allocate (caps.keeps), within ADSM_KEEP for each device. place.c
 * ends it; objects.c's mutex serialises all of this but adsm_kept_size().
 */
#ifndef ADSM_KEPT_H
#define ADSM_KEPT_H

#include "core/arena.h"
#include "core/home.h"

/* How the program's own memory at an address is freed: by who wrapped its driver. */
typedef void adsm_kept_free(uintptr_t start);

struct adsm_kept {
	struct adsm_home *home;
	struct adsm_memory *memory;
	uintptr_t start;
	size_t span;
	char *alias;
	adsm_kept_free *driver_free;	/* of the program's own memory; NULL: it is the library's */
	enum adsm_pages pages;
	bool device_only, chunked;	/* as its object was */
};

/* false: there is no room for it in the table, or within ADSM_KEEP. */
bool adsm_kept_put(const struct adsm_kept *kept);
/* The youngest that suits: @own is the library's memory, else the program's. */
bool adsm_kept_take(const struct adsm_home *home, size_t span, bool device_only, bool own, struct adsm_kept *ret_kept);
/* The oldest of a home; NULL: of any. */
bool adsm_kept_take_oldest(const struct adsm_home *home, struct adsm_kept *ret_kept);
/* The @i-th, NULL when there are no more. */
const struct adsm_kept *adsm_kept_at(size_t i);
/* Bytes of a home's; any thread. */
size_t adsm_kept_size(const struct adsm_home *home);

#endif
