/* SPDX-License-Identifier: MIT */
/*
 * heap.h - memory that tasks allocate. It is device memory, in a range of addresses that plain pointers do not reach,
 * like objects. Its administration is outside of it, because a worker may write back stale bytes at any time.
 */
#ifndef ADSM_SCRATCHPAD_HEAP_H
#define ADSM_SCRATCHPAD_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/* Returns 0 or -ENOMEM. The range begins and ends at borders of tasks' pages of any size. */
int adsm_heap_start(uint64_t *ret_begin, uint64_t *ret_end, uint8_t **ret_bytes);
/* Returns an address aligned to 64 bytes; 0: no memory. May be called by any thread. */
uint64_t adsm_heap_alloc(uint64_t size);
/* The bytes that were allocated at this address; 0: none, or they were freed. */
uint64_t adsm_heap_size(uint64_t address);
/* Returns false if it was freed already, also if another thread was faster. */
bool adsm_heap_free(uint64_t address);

#endif
