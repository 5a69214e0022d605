/* SPDX-License-Identifier: MIT */
/*
 * lent.h - memory that kernels allocate while they run (ADSM_ALLOC): a reserved range of addresses, where only the used
 * part is accessible. All of it is freed when the launch ends. Any thread of a kernel may call these functions. Memory
 * that tasks allocate may be such a range, too; its owner then fills struct adsm_lent itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_LENT_SIZES 41

struct adsm_lent_block;

struct adsm_lent {
	uint8_t *base;
	size_t size, open, end;		/* bytes of the range; of its accessible part; of its part in blocks */
	struct adsm_lent_block *blocks;
	size_t n_blocks, n_room;
	uint32_t free[ADSM_LENT_SIZES];	/* the first free block of each size: index + 1 */
	uint64_t taken;
};

/* Reserve the range; call this first, and once. Without enough address space no memory can be allocated. */
void adsm_lent_start(struct adsm_lent *lent);
/* The bytes of device memory that @size bytes take; 0 if the size is invalid. */
uint64_t adsm_lent_cost(uint64_t size);
/* Allocate @cost bytes, aligned to 64, with undefined contents. Returns 0 if the range is full. */
uint64_t adsm_lent_alloc(struct adsm_lent *lent, uint64_t cost);
/* Returns the cost of the memory at @address; 0 if the address is not allocated. */
uint64_t adsm_lent_size(const struct adsm_lent *lent, uint64_t address);
/* Free the memory, and return its cost; 0 if the address is not allocated, or another thread has freed it before. */
uint64_t adsm_lent_free(struct adsm_lent *lent, uint64_t address);
/* Free everything, and return the sum of the costs. No kernel may run. */
uint64_t adsm_lent_reset(struct adsm_lent *lent);
