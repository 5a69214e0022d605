/* SPDX-License-Identifier: MIT */
/*
 * blocks.h - the basic blocks of a function, and the registers that are live between them.
 *
 * A block ends where control may go elsewhere, and at each yield: an instruction at which a thread waits for other
 * threads (bar, shfl, vote, match, redux, activemask, grid.sync() of cooperative groups). A yield is the last
 * instruction of its block. Two yields are no instructions of the PTX, and are in blocks of their own. A loop that
 * waits for other threads by reading memory has adsm_ptx_is_spin() before it begins again. Where threads of a warp
 * count on each other's last access to memory, adsm_ptx_is_step() precedes the next access.
 */
#pragma once

#include "ptx/ptx.h"

/* How a block ends. If @by has a guard that does not hold, control continues at the last of next. */
enum adsm_ptx_end {
	ADSM_PTX_GOTO,			/* next[0]; by: NULL, or bra */
	ADSM_PTX_SWITCH,		/* by: brx.idx; next[index] */
	ADSM_PTX_LEAVE,			/* by: ret or exit; NULL: the end of the function */
	ADSM_PTX_YIELD,			/* by; the thread continues at next[0], with or without a wait */
};

struct adsm_ptx_block {
	uint32_t first, n;		/* its instructions, without the one that ends it */
	enum adsm_ptx_end end;
	const struct adsm_ptx_instruction *by;
	uint32_t n_next;
	uint32_t *next;			/* indices of blocks */
	bool reached;			/* control can reach it */
	/* Bits for registers: read before they are written here; written here; live at the start; at the end. */
	uint64_t *uses, *defines, *live_in, *live_out;
};

struct adsm_ptx_blocks {
	const struct adsm_ptx_function *function;
	uint32_t n;
	struct adsm_ptx_block *blocks;	/* block 0 is the first to run; the order is that of the text */
	uint32_t words;			/* of each set of bits */
	uint32_t n_yields;		/* reached ones */
	struct adsm_ptx_instruction *spins;	/* yields of loops that wait */
	struct adsm_ptx_instruction *steps;	/* yields of warps in lockstep */
	uint32_t *next;			/* the memory of what the blocks point to */
	uint64_t *bits;
};

/* Does a thread wait for other threads at this instruction? */
bool adsm_ptx_is_yield(const struct adsm_ptx_instruction *instruction);
/* Is it one at which the threads of a warp meet, rather than those of the block? */
bool adsm_ptx_is_warp_yield(const struct adsm_ptx_instruction *instruction);

/* Is it bar.arrive, at which a thread does not wait? It is no yield. */
bool adsm_ptx_arrives(const struct adsm_ptx_instruction *instruction);

/* The function that grid.sync() of include/cuda-c/cooperative_groups.h is. */
#define ADSM_PTX_GRID_SYNC "__adsm_grid_sync"

/* Is it the call of grid.sync(), at which all threads of the grid meet? */
bool adsm_ptx_is_grid_sync(const struct adsm_ptx_instruction *instruction);
/* Does it read memory that other threads may write meanwhile, or call a function that does? */
bool adsm_ptx_reads_changes(const struct adsm_ptx_instruction *instruction);
/* Is it the yield of a loop that waits? It is no instruction of the PTX, and has no operands. */
bool adsm_ptx_is_spin(const struct adsm_ptx_instruction *instruction);

/*
 * Is it the yield of a warp in lockstep? All lanes that are at it continue together, those that are behind others
 * first. It is no instruction of the PTX, and has no operands.
 */
bool adsm_ptx_is_step(const struct adsm_ptx_instruction *instruction);

/*
 * Find the blocks of a function, and the live registers. Returns 0 or -ENOMEM.
 * @lockstep: warps are in lockstep at all accesses to shared and global memory; else only at volatile accesses to
 * shared memory, which programs without __syncwarp() have.
 */
int adsm_ptx_blocks_find(const struct adsm_ptx_function *function, bool lockstep, struct adsm_ptx_blocks *ret_blocks);
void adsm_ptx_blocks_destroy(struct adsm_ptx_blocks *blocks);

static inline bool adsm_ptx_bit(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static inline void adsm_ptx_set_bit(uint64_t *bits, uint32_t i)
{
	bits[i / 64] |= UINT64_C(1) << i % 64;
}
