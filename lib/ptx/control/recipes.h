/* SPDX-License-Identifier: MIT */
/*
 * recipes.h - how registers are computed from what never changes: parameters, indices and constants. Within a region
 * also from registers that all threads bring along with the same value.
 */
#pragma once

#include "blocks.h"

/* These instructions, in this order, compute a register. */
struct adsm_ptx_recipe {
	uint32_t n;
	const struct adsm_ptx_instruction **instructions;
};

/* What writes a register: nothing, one instruction, or several. */
struct adsm_ptx_definition {
	const struct adsm_ptx_instruction *by;	/* the last one */
	uint32_t n;
};

/* A part of a function that a thread runs without a yield. */
struct adsm_ptx_part {
	const struct adsm_ptx_blocks *blocks;
	const uint64_t *set;		/* bits: its blocks */
	uint32_t start;			/* the block that it begins with */
	const uint64_t *common;		/* bits: registers that are the same in all threads when the part begins */
};

struct adsm_ptx_recipes {
	const struct adsm_ptx_function *function;
	const struct adsm_ptx_part *part;	/* NULL: recipes are valid everywhere */
	uint32_t limit;			/* instructions of a recipe, at most */
	struct adsm_ptx_definition *definitions;	/* by register */
	struct adsm_ptx_recipe *recipes;	/* by register; n is 0: its value when the part begins */
	uint8_t *states;		/* by register: what is known */
	bool failed;			/* there was no memory */
};

/* @part: NULL, or where recipes are needed. Returns 0 or -ENOMEM. No register has a recipe yet. */
int adsm_ptx_recipes_init(struct adsm_ptx_recipes *recipes, const struct adsm_ptx_function *function, uint32_t limit,
			  const struct adsm_ptx_part *part);
/* The recipe of a register; NULL: there is none, or recipes->failed. */
const struct adsm_ptx_recipe *adsm_ptx_recipe_find(struct adsm_ptx_recipes *recipes, uint32_t reg);
void adsm_ptx_recipes_destroy(struct adsm_ptx_recipes *recipes);
/* Does the result of an instruction depend on its operands only? */
bool adsm_ptx_is_pure(const struct adsm_ptx_function *function, const struct adsm_ptx_instruction *instruction);
