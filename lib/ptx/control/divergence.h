/* SPDX-License-Identifier: MIT */
/*
 * divergence.h - which registers may differ between the threads of a block, and whether all threads take the same way
 * from yield to yield.
 *
 * A register is divergent if its value depends on the thread's index, on memory that may change, or on a branch that
 * threads take differently. The region of such a branch reaches to the block where all ways from it meet again.
 */
#pragma once

#include "blocks.h"

struct adsm_ptx_divergence {
	uint64_t *registers;		/* bits: divergent ones */
	bool is_even;			/* all threads come to the same yields, or end */
};

/* Returns 0 or -ENOMEM. */
int adsm_ptx_divergence_find(const struct adsm_ptx_blocks *blocks, struct adsm_ptx_divergence *ret_divergence);
void adsm_ptx_divergence_destroy(struct adsm_ptx_divergence *divergence);
