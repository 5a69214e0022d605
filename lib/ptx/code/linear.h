/* SPDX-License-Identifier: MIT */
/*
 * linear.h - indices that are linear in the thread's x index: base + step * tid.x.
 *
 * PTX computes indices in 32 bits, where they may wrap around, and then makes addresses of 64 bits. A C compiler must
 * assume that neighbouring threads access any address, and does not use vector instructions. So a row of threads is
 * written twice. The first text computes linear indices in 64 bits, from a base and a step. It runs if none of them
 * wraps around in this row. Bases and steps are found before the row, by computing the indices of threads 0 and 1.
 *
 * In many kernels a thread compares its indices with limits first, and ends if it has nothing to do. The threads of a
 * row that have something to do are then next to each other, and the first text runs these threads only.
 */
#pragma once

#include "ptx/control/blocks.h"
#include "ptx/control/recipes.h"
#include "writer.h"

#define ADSM_PTX_LIMITS 12

/* A condition that a thread must fulfil to do anything: a comparison, or a predicate that is the same for the row. */
struct adsm_ptx_limit {
	const struct adsm_ptx_instruction *by;	/* setp; NULL: the predicate */
	uint32_t predicate;
	bool wanted;			/* the result that is needed */
};

struct adsm_ptx_linear {
	struct adsm_ptx_recipes recipes;
	uint8_t *shapes;		/* by register: enum shape */
	/* By register: the number of its index in 64 bits, of signed and of unsigned numbers; 0: it has none. */
	uint32_t *indices[2];
	uint32_t n_indices;
	const struct adsm_ptx_instruction **ors;	/* linear if their operands have no bit in common */
	uint32_t n_ors;
	/* After the limits: comparisons whose result changes within a row, which is divided there. */
	struct adsm_ptx_limit limits[ADSM_PTX_LIMITS];
	uint32_t n_limits, n_splits;
	/* Room for bases.c: by register, what it is for; instructions. */
	uint8_t *needed;
	const struct adsm_ptx_instruction **list;
	const uint32_t *offsets;	/* by register: where its value is in u when the part begins */
	const uint64_t *named;		/* bits: registers of the text; it leaves out the indices of others */
	uint64_t *decided;		/* bits: blocks whose branch would end threads that limits leave out */
};

/*
 * Find the indices of a kernel; and the limits, if it has no yields. @part: NULL, or where the indices are used.
 * Returns 0 or -ENOMEM.
 */
int adsm_ptx_linear_find(const struct adsm_ptx_blocks *blocks, const struct adsm_ptx_part *part,
			 struct adsm_ptx_linear *ret_linear);
void adsm_ptx_linear_destroy(struct adsm_ptx_linear *linear);

/* Is an operand linear, and not the same in the row? Is it a register of 32 bits, too? */
bool adsm_ptx_is_linear(struct adsm_ptx_linear *linear, const struct adsm_ptx_operand *operand);
bool adsm_ptx_is_index(struct adsm_ptx_linear *linear, const struct adsm_ptx_operand *operand);
/* The type as which an instruction reads a register of 32 bits to widen it; ADSM_PTX_NO_TYPE: it widens none. */
enum adsm_ptx_type adsm_ptx_widens(const struct adsm_ptx_instruction *instruction);
/*
 * What a comparison of integers has to be for a result: left - right < 0; right - left, if @ret_swap; < 1, if
 * @ret_or_equal. Returns whether it can be said so.
 */
bool adsm_ptx_limit_order(const struct adsm_ptx_instruction *by, bool wanted, bool *ret_swap, bool *ret_or_equal);

/* Does a thread that comes to a block end without having done anything? */
bool adsm_ptx_only_leaves(const struct adsm_ptx_block *block);
