/* SPDX-License-Identifier: MIT */
/* layout.h - what a core's local store is made of: the library and the device's program compute the same. */
#ifndef ADSM_SCRATCHPAD_LAYOUT_H
#define ADSM_SCRATCHPAD_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_SCRATCHPAD_MIN_SIZE ((uint64_t)16 << 10)
#define ADSM_SCRATCHPAD_MAX_SIZE ((uint64_t)8 << 20)
#define ADSM_SCRATCHPAD_CONTROL 1024		/* bytes of the state of cache and core */
#define ADSM_SCRATCHPAD_RUNTIME 2048		/* bytes of stack for the cache's functions and libm's */
#define ADSM_SCRATCHPAD_MAX_SETS 65536
#define ADSM_SCRATCHPAD_MAX_WAYS 64
#define ADSM_SCRATCHPAD_MIN_LINE 16	/* the largest access that a kernel makes at once */
#define ADSM_SCRATCHPAD_MAX_LINE 4096	/* a page: what a line is part of is mapped as a whole */
#define ADSM_SCRATCHPAD_STREAMS 4		/* that are fetched ahead, a line for each */
#define ADSM_SCRATCHPAD_SERVICE 8192		/* of stack for what tasks call: locks, barriers, their errors */
#define ADSM_SCRATCHPAD_MIN_PAGE 2048u		/* of tasks */
#define ADSM_SCRATCHPAD_MAX_PAGE 32768u
#define ADSM_SCRATCHPAD_PAGE_SIZES 5		/* that there are */

/* As options say it. All numbers but the sizes are powers of two. */
struct adsm_scratchpad_geometry {
	uint64_t size;			/* bytes of the store */
	uint64_t code;			/* of its code buffer */
	uint32_t sets, ways, line;	/* of the cache: line in bytes */
	uint32_t dirty;			/* bytes that one dirty bit stands for */
	uint32_t prefetch;		/* lines that follow are fetched ahead */
};

/* A store has another cache while it is a worker's of a task: whole pages. */
struct adsm_scratchpad_task {
	uint32_t page;			/* bytes */
	uint32_t n_pages;		/* 0: as many as leave a quarter of the room for the stack */
};

/* How code comes into the code buffer that has not room for all. */
struct adsm_scratchpad_overlays {
	uint32_t buffers;		/* sub-buffers; 0: as many as there is room for */
	uint32_t policy;		/* which partition leaves: enum adsm_policy_kind */
	uint32_t victim;		/* there may be a victim entry */
	uint32_t always;		/* code runs in partitions also where all of it fits */
};

/* All ways to load code, @i from 0 to ADSM_SCRATCHPAD_SETTINGS - 1, those with few sub-buffers first. */
#define ADSM_SCRATCHPAD_SETTINGS 28
struct adsm_scratchpad_overlays adsm_scratchpad_setting(unsigned i);

/* Bytes. What there is beside the stack is in this order, at the beginning of the core's window. */
struct adsm_scratchpad_layout {
	uint64_t control, tags, dirty, lines, ahead, code;
	uint64_t stack;			/* the rest, in whole pages */
};

/* False: it does not fit, and *ret_text says what does not, with all sizes. */
bool adsm_scratchpad_lay_out(const struct adsm_scratchpad_geometry *geometry,
			     struct adsm_scratchpad_layout *ret_layout, char *ret_text, size_t size);
/*
 * Other caches of the same size, @i from 0 to ADSM_SCRATCHPAD_OTHERS - 1, that a store like this may have; the last one
 * is its own. False: there is none of that number.
 */
#define ADSM_SCRATCHPAD_OTHERS 28
bool adsm_scratchpad_other(const struct adsm_scratchpad_geometry *own, unsigned i,
			   struct adsm_scratchpad_geometry *ret_other);
/* The same for tasks: lines are pages. */
bool adsm_scratchpad_lay_out_task(const struct adsm_scratchpad_geometry *geometry,
				  const struct adsm_scratchpad_task *task, struct adsm_scratchpad_layout *ret_layout,
				  char *ret_text, size_t size);

#endif
