/* SPDX-License-Identifier: MIT */
/*
 * heap.h - memory that tasks allocate: of the device's, at addresses of a range that no plain pointer reaches, as
 * objects are. What is known of it lies outside of it: stale bytes that a worker still has may come back at any time.
 */
#ifndef ADSM_SCRATCHPAD_HEAP_H
#define ADSM_SCRATCHPAD_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/* -ENOMEM. The range begins and ends with whole pages of tasks, of whatever size. */
int adsm_heap_start(uint64_t *ret_begin, uint64_t *ret_end, uint8_t **ret_bytes);
/* Any thread. 0: there is none. Aligned to 64 bytes. */
uint64_t adsm_heap_alloc(uint64_t size);
/* How many bytes were given at this address; 0: none, or they are free already. */
uint64_t adsm_heap_size(uint64_t address);
/* False: it is free already, also where another thread was the first. */
bool adsm_heap_free(uint64_t address);

#endif
