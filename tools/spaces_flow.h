/* SPDX-License-Identifier: MIT */
/* spaces_flow.h - the basic blocks of a function: their successors, dominators, loops and costs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <llvm-c/Core.h>

struct flow_edge { unsigned from, to; };

struct flow {
	unsigned n;			/* blocks; 0 is the entry */
	LLVMBasicBlockRef *blocks;
	struct flow_edge *edges;
	unsigned n_edges;
	uint64_t *dominators;		/* a row of bits for each block: the blocks that dominate it, and itself */
	unsigned words;			/* of a row */
	unsigned *depth;		/* number of loops around each block */
	double *cost;			/* an estimate of each block's code, in instructions */
};

/* @function must have a body. Memory is never freed. */
struct flow flow_of(LLVMValueRef function);
/* Does @one dominate @other? A block that cannot be reached is dominated by all. */
bool flow_dominates(const struct flow *flow, unsigned one, unsigned other);
/* The estimate for one instruction. */
double flow_cost(LLVMValueRef instruction);

/* An array whose elements are 0. Without memory the program ends. */
void *spaces_array(size_t n, size_t size);
