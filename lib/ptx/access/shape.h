/* SPDX-License-Identifier: MIT */
/* shape.h - which blocks of a function come before which others on all ways, and its loops. */
#pragma once

#include "ptx/control/blocks.h"

/* A tree of nodes: those that are on all ways from the root to a node are above it. */
struct adsm_ptx_tree {
	uint32_t *above;		/* by node: the next one to the root; UINT32_MAX: not reached */
	uint32_t *from, *size;		/* a node's part of the tree is from, from + 1, …: size numbers */
};

struct adsm_ptx_loop {
	uint32_t header;		/* control enters the loop here only */
	uint32_t n;			/* blocks */
	uint64_t *blocks;		/* bits */
	uint32_t outer;			/* the loop around it, or ADSM_PTX_NO_LOOP */
};

#define ADSM_PTX_NO_LOOP UINT32_MAX

struct adsm_ptx_shape {
	const struct adsm_ptx_blocks *blocks;
	uint32_t *block_of;		/* by instruction */
	struct adsm_ptx_tree before;	/* dominators; the root is block 0 */
	struct adsm_ptx_tree after;	/* postdominators; the root is the end, blocks->n */
	uint32_t n_loops;
	struct adsm_ptx_loop *loops;
	uint32_t *loop_of;		/* by block: the innermost one, or ADSM_PTX_NO_LOOP */
	/* For searches: room for all edges, and bits for all blocks. */
	uint32_t *stack;
	uint64_t *seen;
};

/*
 * Returns 0; -ENOMEM; -E2BIG: the function has too many blocks, or a loop that begins at two of them. destroy(): also
 * after an error.
 */
int adsm_ptx_shape_find(const struct adsm_ptx_blocks *blocks, struct adsm_ptx_shape *ret_shape);
void adsm_ptx_shape_destroy(struct adsm_ptx_shape *shape);

/*
 * Can control that leaves a block of a loop get to another block without passing the loop's header, or leaving the
 * loop?
 */
bool adsm_ptx_shape_leads(const struct adsm_ptx_shape *shape, uint32_t loop, uint32_t from, uint32_t to);

/* Is a node in the tree, and above another one or the same? */
static inline bool adsm_ptx_is_above(const struct adsm_ptx_tree *tree, uint32_t a, uint32_t b)
{
	return tree->above[a] != UINT32_MAX && tree->above[b] != UINT32_MAX && tree->from[a] <= tree->from[b] &&
	       tree->from[b] < tree->from[a] + tree->size[a];
}

static inline bool adsm_ptx_in_loop(const struct adsm_ptx_shape *shape, uint32_t loop, uint32_t block)
{
	return adsm_ptx_bit(shape->loops[loop].blocks, block);
}
