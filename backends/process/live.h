/* SPDX-License-Identifier: MIT */
/* live.h - which pages of device memory are allocated: one bit for each page, in the shared memory. The application
 * writes the bits, and the device reads them when a kernel touches a page. Allocated memory is called live. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_LIVE_FREED 512		/* the last freed ranges that are kept */

struct adsm_live_range { uint64_t offset, size; };

struct adsm_live_shared {
	/* The device has opened all memory, because its process has reached the limit of mappings. */
	_Atomic uint32_t is_open;
	/* Number of ranges freed since the start; range n is in freed[n % ADSM_LIVE_FREED]. */
	_Atomic uint64_t n_freed;
	struct { _Atomic uint64_t offset, size; } freed[ADSM_LIVE_FREED];
	/* A bit for each live page, then a bit for each page where an allocation begins. */
	_Alignas(4096) _Atomic uint64_t bits[];
};

/* This is how one of the two processes accesses the bits. */
struct adsm_live {
	struct adsm_live_shared *shared;
	_Atomic uint64_t *pages, *begins;
	uint64_t n_pages;
};

/* Bytes of shared memory that @size bytes of device memory need. */
size_t adsm_live_bytes(size_t size);
void adsm_live_start(struct adsm_live *live, void *shared, size_t size);

/* For the application. Ranges are whole pages of the device. Add: the range is allocated. Remove: it is freed; callers
 * exclude each other. */
void adsm_live_add(struct adsm_live *live, uint64_t offset, uint64_t size);
void adsm_live_remove(struct adsm_live *live, uint64_t offset, uint64_t size);

/* For the device. [signal] */
bool adsm_live_has(const struct adsm_live *live, uint64_t offset);
/* Returns the run of live pages around the page at @offset. Returns false if that page is not live. */
bool adsm_live_run(const struct adsm_live *live, uint64_t offset, struct adsm_live_range *ret_range);
/* Describe the distance of an address from the nearest live memory: "8 bytes behind the end of the 4096 bytes of an
 * object at 0x…". The text is "" if the address is live, or if no memory is live. */
void adsm_live_say(const struct adsm_live *live, uint64_t base, uint64_t address, char *ret_text, size_t size);
/*
 * Are all bytes of a range in one object? Addresses outside of device memory are not known, and count as inside.
 * @of: 0, or an address in the object that they must be in; one that is in no object counts as 0. The start of an
 * object also counts as the end of the one before it.
 * If they are not, the text says where the range is, as that of adsm_live_say().
 */
bool adsm_live_inside(const struct adsm_live *live, uint64_t base, struct adsm_live_range range, uint64_t of,
		      char *ret_text, size_t size);
