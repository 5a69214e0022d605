/* SPDX-License-Identifier: MIT */
/*
 * lent.h - memory that kernels allocate while they run (ADSM_ALLOC): a reserved range of addresses, where only the used
 * part is accessible. All of it is freed when the launch ends. Any thread of a kernel may call these functions.
 */
#ifndef ADSM_PROCESS_LENT_H
#define ADSM_PROCESS_LENT_H

#include <stdbool.h>
#include <stdint.h>

/* Reserve the range; call this first, and once. Without enough address space no memory can be allocated. */
void adsm_lent_start(void);
void adsm_lent_range(uint64_t *ret_begin, uint64_t *ret_end);
/* The bytes of device memory that @size bytes take; 0 if the size is invalid. */
uint64_t adsm_lent_cost(uint64_t size);
/* Allocate @cost bytes, aligned to 64, with undefined contents. Returns 0 if the range is full. */
uint64_t adsm_lent_alloc(uint64_t cost);
/* Returns the cost of the freed memory; 0 if the address is not allocated. */
uint64_t adsm_lent_free(uint64_t address);
/* Free everything, and return the sum of the costs. No kernel may run. */
uint64_t adsm_lent_reset(void);

#endif
