/* SPDX-License-Identifier: MIT */
/*
 * regions.h - the regions of a kernel: the code between two yields.
 *
 * All threads of a thread block (or of a warp, if threads of warps exchange values) run a region before any of them
 * runs the next one. Region 0 begins at the kernel's start, each other region after one yield. Registers that are live
 * at a yield are kept in memory, except those that can be computed again from what never changes: parameters, indices
 * and constants.
 */
#pragma once

#include "blocks.h"
#include "recipes.h"

struct adsm_ptx_region {
	uint32_t start;			/* its first block */
	const struct adsm_ptx_instruction *yield;	/* the yield that it begins after; NULL: region 0 */
	uint32_t yield_block;		/* the block that ends with the yield */
	uint64_t *blocks;		/* bits: its blocks */
	uint64_t *outcomes;		/* bits: the regions that may follow */
	uint32_t n_outcomes;		/* with the end of the thread, if that is possible */
	bool leaves;			/* a thread may end here */
	uint64_t size;			/* its number of instructions */
};

struct adsm_ptx_regions {
	const struct adsm_ptx_blocks *blocks;
	uint32_t n;
	struct adsm_ptx_region *regions;
	uint32_t *region_of;		/* by block that ends with a yield: the region after it */
	uint64_t *kept;			/* bits: registers that are kept at some yield */
	struct adsm_ptx_recipes recipes;	/* of registers that are not kept */
	uint64_t size;			/* the number of instructions of all regions */
	void *memory[8];
};

/* Find the regions. Returns 0 or -ENOMEM. The blocks must live as long as the regions. */
int adsm_ptx_regions_find(const struct adsm_ptx_blocks *blocks, struct adsm_ptx_regions *ret_regions);
void adsm_ptx_regions_destroy(struct adsm_ptx_regions *regions);
