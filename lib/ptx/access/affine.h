/* SPDX-License-Identifier: MIT */
/*
 * affine.h - what the integers in a kernel's registers are: polynomials of the launch's sizes, the thread's indices,
 * the kernel's parameters, and how often loops have begun again.
 *
 * A register of 32 bits has the last 32 bits of its polynomial, one of 64 bits the last 64. Where an instruction
 * takes a register as a number, such as cvt.s64.s32, the polynomial must be in the range of the type. Only a launch can
 * tell: that is a condition.
 */
#pragma once

#include "poly.h"
#include "shape.h"

enum adsm_ptx_condition_kind {
	ADSM_PTX_NOT_NEGATIVE,		/* the thread gets there only if the polynomial is ≥ 0 */
	ADSM_PTX_ZERO,			/* … is 0 */
	ADSM_PTX_NOT_ZERO,		/* … is not 0 */
	ADSM_PTX_FITS_S32, ADSM_PTX_FITS_U32, ADSM_PTX_FITS_S64, ADSM_PTX_FITS_U64,
					/* it is in the range, or nothing is known */
};

struct adsm_ptx_condition {
	enum adsm_ptx_condition_kind kind;
	/* The atom of a loop: the loop begins a turn only if this holds in it, and in all before. 0: no loop's. */
	uint32_t turns_of;
	struct adsm_ptx_poly poly;
};

#define ADSM_PTX_CONDITIONS 24

struct adsm_ptx_conditions {
	uint32_t n;
	struct adsm_ptx_condition list[ADSM_PTX_CONDITIONS];
};

struct adsm_ptx_affine {
	const struct adsm_ptx_function *kernel;
	const struct adsm_ptx_shape *shape;
	/* By register: the instructions that set it, up to two, and how many do. */
	struct adsm_ptx_setters { uint32_t n, at[2]; } *setters;
	/* Of what is looked at now: */
	struct adsm_ptx_conditions *conditions;
	uint32_t loops[ADSM_PTX_POLY_LOOPS], n_loops;	/* of each loop atom: its loop */
	uint32_t self;			/* the register whose value is ADSM_PTX_ATOM_SELF, or UINT32_MAX */
	uint32_t depth, work;
};

/* Returns 0 or -ENOMEM. */
int adsm_ptx_affine_init(struct adsm_ptx_affine *affine, const struct adsm_ptx_function *kernel,
			 const struct adsm_ptx_shape *shape);
void adsm_ptx_affine_finish(struct adsm_ptx_affine *affine);
/* Begin with an instruction: there are no conditions yet. */
void adsm_ptx_affine_begin(struct adsm_ptx_affine *affine, struct adsm_ptx_conditions *conditions);

/*
 * The value of an operand where instruction @at reads it, modulo 2^bits; adds conditions. Returns false: not known.
 * affine_number(): as the number that the type says. is_known_at(): is what
 * instruction @setter sets still there at @at?
 */
bool adsm_ptx_affine_value(struct adsm_ptx_affine *affine, const struct adsm_ptx_operand *operand, uint32_t at,
			   struct adsm_ptx_poly *ret);
bool adsm_ptx_affine_number(struct adsm_ptx_affine *affine, const struct adsm_ptx_operand *operand, uint32_t at,
			    enum adsm_ptx_type type, struct adsm_ptx_poly *ret);
bool adsm_ptx_affine_is_known_at(const struct adsm_ptx_affine *affine, uint32_t setter, uint32_t at);
/* Does each turn of a loop that begins again pass a block, which is in no loop inside of it? */
bool adsm_ptx_is_in_each_turn(const struct adsm_ptx_shape *shape, uint32_t loop, uint32_t block);
/* Add a condition. @turns_of: as above. Returns false: there is no room. */
bool adsm_ptx_affine_condition(struct adsm_ptx_affine *affine, enum adsm_ptx_condition_kind kind, uint32_t turns_of,
			       const struct adsm_ptx_poly *poly);
/* The atom of a loop. Returns false: there is none left. */
bool adsm_ptx_affine_loop(struct adsm_ptx_affine *affine, uint32_t loop, uint32_t *ret_atom);
