/* SPDX-License-Identifier: MIT */
/*
 * live.h - which pages of device memory are somebody's: a bit for each in the shared memory. The application writes
 * them, and the device looks there when a kernel touches a page.
 */
#ifndef ADSM_PROCESS_LIVE_H
#define ADSM_PROCESS_LIVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_LIVE_FREED 512		/* ranges that are remembered */

struct adsm_live_range { uint64_t offset, size; };

struct adsm_live_shared {
	_Atomic uint64_t n_freed;	/* ranges, ever: number n is in freed[n % ADSM_LIVE_FREED] */
	struct { _Atomic uint64_t offset, size; } freed[ADSM_LIVE_FREED];
	_Alignas(4096) _Atomic uint64_t bits[];	/* of live pages, then of those with which memory begins */
};

/* One side's view of it. */
struct adsm_live {
	struct adsm_live_shared *shared;
	_Atomic uint64_t *pages, *begins;
	uint64_t n_pages;
};

/* Of shared memory, for @size bytes of device memory. */
size_t adsm_live_bytes(size_t size);
void adsm_live_start(struct adsm_live *live, void *shared, size_t size);

/* The application's, in whole pages of the device: memory is there; it is gone, and callers exclude each other. */
void adsm_live_add(struct adsm_live *live, uint64_t offset, uint64_t size);
void adsm_live_remove(struct adsm_live *live, uint64_t offset, uint64_t size);
/* What has been added in pieces is one object. */
void adsm_live_join(struct adsm_live *live, uint64_t offset, uint64_t size);

/* The device's. [signal] */
bool adsm_live_has(const struct adsm_live *live, uint64_t offset);
/* The memory with the page at @offset, and all live memory next to it on both sides. False: that page is not live. */
bool adsm_live_run(const struct adsm_live *live, uint64_t offset, struct adsm_live_range *ret_range);
/*
 * How far from what is live that is: "8 bytes behind the end of the 4096 bytes of an object at 0x…"; "" where
 * it is live, or nothing is.
 */
void adsm_live_say(const struct adsm_live *live, uint64_t base, uint64_t address, char *ret_text, size_t size);

#endif
