/* SPDX-License-Identifier: MIT */
/* layout.h - the parts of a core's local store, which the library and the device's program compute in the same way. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_SCRATCHPAD_MIN_SIZE ((uint64_t)16 << 10)
#define ADSM_SCRATCHPAD_MAX_SIZE ((uint64_t)8 << 20)
#define ADSM_SCRATCHPAD_CONTROL 1024		/* bytes of the state of cache and core */
#define ADSM_SCRATCHPAD_RUNTIME 2048		/* bytes of stack for the functions of the cache and of libm */
/* Code of the cache and of the partition manager. It is not in the local store: cores have a memory for it. The sizes
 * are upper bounds for an optimized library. */
#define ADSM_SCRATCHPAD_CACHE_CODE 32768
#define ADSM_SCRATCHPAD_MANAGER_CODE 8192
#define ADSM_SCRATCHPAD_MAX_SETS 65536
#define ADSM_SCRATCHPAD_MAX_WAYS 64
#define ADSM_SCRATCHPAD_MIN_LINE 16	/* the largest single access of a kernel */
#define ADSM_SCRATCHPAD_MAX_LINE 4096	/* a page: it is mapped or unmapped as a whole */
#define ADSM_SCRATCHPAD_STREAMS 4		/* streams that fetch ahead, one line each */
/* Bytes of stack for the functions that tasks call: locks, barriers, errors. */
#define ADSM_SCRATCHPAD_SERVICE 8192
#define ADSM_SCRATCHPAD_MIN_PAGE 2048u		/* of tasks */
#define ADSM_SCRATCHPAD_MAX_PAGE 32768u
#define ADSM_SCRATCHPAD_PAGE_SIZES 5		/* number of sizes */

/* The options of a local store. All numbers except size and code are powers of two. */
struct adsm_scratchpad_geometry {
	uint64_t size;			/* bytes of the store */
	uint64_t code;			/* bytes of the code buffer */
	uint32_t sets, ways, line;	/* of the cache: line in bytes */
	uint32_t dirty;			/* bytes for each dirty bit */
	uint32_t prefetch;		/* 1: fetch following lines ahead */
};

/* During a task, a worker's store has another cache: one of whole pages. */
struct adsm_scratchpad_task {
	uint32_t page;			/* bytes */
	uint32_t n_pages;		/* 0: as many as leave a quarter of the store for the stack */
};

/* How code is loaded into a code buffer that is too small for all of it. */
struct adsm_scratchpad_overlays {
	uint32_t buffers;		/* sub-buffers; 0: as many as fit */
	uint32_t policy;		/* which partition is evicted: enum adsm_policy_kind */
	uint32_t victim;		/* 1: there may be a victim entry */
	uint32_t always;		/* 1: code runs in partitions even if all of it fits */
	uint32_t registers;		/* 1: calls between partitions save all registers */
};

/* All settings for loading code, @i from 0 to ADSM_SCRATCHPAD_SETTINGS - 1, in ascending order of sub-buffers. */
#define ADSM_SCRATCHPAD_SETTINGS 28
struct adsm_scratchpad_overlays adsm_scratchpad_setting(unsigned i);

/* Bytes of each part. The parts except the stack are in this order at the beginning of the core's window. */
struct adsm_scratchpad_layout {
	uint64_t control, tags, dirty, lines, ahead, code;
	uint64_t stack;			/* the rest, in whole pages */
};

/* Returns false if the parts do not fit; *ret_text then has all sizes. */
bool adsm_scratchpad_lay_out(const struct adsm_scratchpad_geometry *geometry,
			     struct adsm_scratchpad_layout *ret_layout, char *ret_text, size_t size);
/* Other caches of the same size that such a store may have, @i from 0 to ADSM_SCRATCHPAD_OTHERS - 1; the last one is
 * its own cache. Returns false if there is no cache with this number. */
#define ADSM_SCRATCHPAD_OTHERS 28
bool adsm_scratchpad_other(const struct adsm_scratchpad_geometry *own, unsigned i,
			   struct adsm_scratchpad_geometry *ret_other);
/* The layout for tasks, where lines are pages. Returns false as adsm_scratchpad_lay_out(). */
bool adsm_scratchpad_lay_out_task(const struct adsm_scratchpad_geometry *geometry,
				  const struct adsm_scratchpad_task *task, struct adsm_scratchpad_layout *ret_layout,
				  char *ret_text, size_t size);
