/* SPDX-License-Identifier: MIT */
/*
 * places.h - where the values of a kernel come from: its places, such as registers, and what addresses are of. All
 * functions that the kernel calls are part of it.
 *
 * A value is made of origins. It is made of them as a whole, if it may be an address; or in part, if it is a piece or a
 * multiple of one, such as 32 of its bits, or an index times a size.
 */
#pragma once

#include "ptx/ptx.h"

/* Parameters of the kernel are in slots of 8 bytes. What follows the last one counts as the last one. */
#define ADSM_PTX_SLOTS 1018

enum adsm_ptx_origin {
	ADSM_PTX_FROM_MEMORY,		/* an address that was loaded, or that a function returned */
	ADSM_PTX_FROM_SYMBOL,		/* of a variable of the module */
	ADSM_PTX_FROM_HEAP,		/* of malloc() */
	ADSM_PTX_FROM_LOCAL,
	ADSM_PTX_FROM_SHARED,
	ADSM_PTX_FROM_PARAM,		/* the address of a parameter */
	ADSM_PTX_FROM_SLOT,		/* the value of the first slot; then the others */
};

#define ADSM_PTX_ORIGIN_WORDS ((ADSM_PTX_SLOTS + ADSM_PTX_FROM_SLOT) / 64)

struct adsm_ptx_value {
	uint64_t whole[ADSM_PTX_ORIGIN_WORDS], part[ADSM_PTX_ORIGIN_WORDS];
};

struct adsm_ptx_reached {
	const struct adsm_ptx_function *function;
	uint32_t first;			/* the place of its first register */
	/* By register: the instruction that sets it. n: how many do. */
	struct adsm_ptx_definition { const struct adsm_ptx_instruction *by; uint32_t n; } *definitions;
};

/* A variable in pieces of 8 bytes, which are places. */
struct adsm_ptx_cells {
	const struct adsm_ptx_variable *variable;
	uint32_t first, n;
};

/* Places that are not of one variable: what is stored at an unknown address, and all of it. */
enum adsm_ptx_pool {
	ADSM_PTX_ANY_LOCAL, ADSM_PTX_ALL_LOCAL, ADSM_PTX_ANY_PARAM, ADSM_PTX_ALL_PARAM, ADSM_PTX_SHARED_POOL,
	ADSM_PTX_POOLS
};

struct adsm_ptx_places {
	const struct adsm_ptx_module *module;
	const struct adsm_ptx_function *kernel;
	uint32_t n_slots, words;
	uint32_t *first_slot;		/* by parameter of the kernel */
	/* The functions of the module, sorted by address; by function: its index in reached, plus 1. */
	const struct adsm_ptx_function **functions;
	uint32_t *reached_at;
	/* The functions whose address something takes. */
	uint32_t n_taken;
	const struct adsm_ptx_function **taken;
	/* The kernel, and the functions with a body that it may call. */
	uint32_t n_reached;
	struct adsm_ptx_reached *reached;
	uint32_t n_cells;
	struct adsm_ptx_cells *cells;	/* sorted by the address of the variable */
	uint32_t n;			/* places */
	uint64_t *values;
};

/* What an address is of. */
struct adsm_ptx_target {
	/* A known place in a variable; NULL: value says what is known. */
	const struct adsm_ptx_variable *variable;
	int64_t offset;
	enum adsm_ptx_space space;	/* the variable's, or the instruction's */
	struct adsm_ptx_value value;
};

/* Returns 0, -ENOMEM. finish(): also after init() has failed. */
int adsm_ptx_places_init(struct adsm_ptx_places *places, const struct adsm_ptx_module *module,
			 const struct adsm_ptx_function *kernel);
void adsm_ptx_places_finish(struct adsm_ptx_places *places);

/* The barrier of the grid, which devices replace: its body is no part of the kernel. */
bool adsm_ptx_syncs_grid(const struct adsm_ptx_function *function);
/* Call visit() for each function that a call may enter, with and without a body. */
void adsm_ptx_each_callee(const struct adsm_ptx_places *places, const struct adsm_ptx_instruction *call,
			  void (*visit)(void *arg, const struct adsm_ptx_function *callee), void *arg);
/* A function that the kernel reaches; NULL: another one. */
const struct adsm_ptx_reached *adsm_ptx_reached_of(const struct adsm_ptx_places *places,
						   const struct adsm_ptx_function *function);

/* The place of a register. That of a pool is its number. */
uint32_t adsm_ptx_register_place(const struct adsm_ptx_reached *in, uint32_t reg);
/* The cells of a variable; NULL: it has none. */
const struct adsm_ptx_cells *adsm_ptx_cells_of(const struct adsm_ptx_places *places,
					       const struct adsm_ptx_variable *variable);
/* The index of a variable among the parameters of the kernel; -1: it is none. */
int64_t adsm_ptx_param_of(const struct adsm_ptx_places *places, const struct adsm_ptx_variable *variable);

/* Add what a place has. */
void adsm_ptx_add_place(const struct adsm_ptx_places *places, uint32_t place, struct adsm_ptx_value *value);
/* Add what an operand is made of: all of its elements, but not the contents of an address. */
void adsm_ptx_add_operand(const struct adsm_ptx_places *places, const struct adsm_ptx_reached *in,
			  const struct adsm_ptx_operand *operand, struct adsm_ptx_value *value);
/* Add what @size bytes at an address contain. */
void adsm_ptx_add_contents(const struct adsm_ptx_places *places, const struct adsm_ptx_target *target, uint64_t size,
			   struct adsm_ptx_value *value);
/* A value that may be no address; a value whose pieces may be one. */
void adsm_ptx_make_part(const struct adsm_ptx_places *places, struct adsm_ptx_value *value);
void adsm_ptx_make_whole(const struct adsm_ptx_places *places, struct adsm_ptx_value *value);
void adsm_ptx_target(const struct adsm_ptx_places *places, const struct adsm_ptx_reached *in,
		     const struct adsm_ptx_operand *memory, enum adsm_ptx_space space,
		     struct adsm_ptx_target *ret_target);

/* Do @size bytes at an offset of a variable touch a cell? What is outside of the variable is in the last one. */
static inline bool adsm_ptx_in_cell(const struct adsm_ptx_cells *cells, uint32_t i, int64_t offset, uint64_t size)
{
	const int64_t at = (int64_t)i * 8, end = (int64_t)((uint64_t)offset + size);
	const bool outside = offset < 0 || end > (int64_t)cells->n * 8 || end < offset;

	return (i + 1 == cells->n && outside) || (at < end && at + 8 > offset);
}

static inline bool adsm_ptx_from(const uint64_t *set, uint32_t origin)
{
	return set[origin / 64] >> origin % 64 & 1;
}

static inline void adsm_ptx_add_origin(uint64_t *set, uint32_t origin)
{
	set[origin / 64] |= UINT64_C(1) << origin % 64;
}

/* May the address be one of this origin? */
static inline bool adsm_ptx_may_be(const struct adsm_ptx_target *target, enum adsm_ptx_origin origin)
{
	return adsm_ptx_from(target->value.whole, origin) || adsm_ptx_from(target->value.part, origin);
}
