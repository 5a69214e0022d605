/* SPDX-License-Identifier: MIT */
/*
 * poly.h - integers of a kernel as polynomials: sums of products of what a launch and its threads have, such as
 * 4*blockIdx.x*blockDim.x + 4*threadIdx.x. The text is that of the section adsm_writes (lib/base/writes.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_PTX_POLY_TERMS 16
#define ADSM_PTX_POLY_ATOMS 4

/* What products are made of. The first four have the components x, y, z: ADSM_PTX_ATOM_THREAD + 1 is threadIdx.y. */
enum adsm_ptx_atom {
	ADSM_PTX_ATOM_THREAD = 0,
	ADSM_PTX_ATOM_BLOCK = 3,
	ADSM_PTX_ATOM_BLOCK_SIZE = 6,
	ADSM_PTX_ATOM_GRID_SIZE = 9,
	ADSM_PTX_ATOM_LOOP = 12,	/* how often a loop has begun again: plus the loop's number */
	ADSM_PTX_ATOM_SELF = 255,	/* the value that a register had; only inside of the analysis */
	ADSM_PTX_ATOM_PARAM = 256,	/* plus what adsm_ptx_atom_of_param() adds */
};

#define ADSM_PTX_POLY_LOOPS 4		/* of one polynomial */

struct adsm_ptx_term {
	int64_t factor;			/* not 0 */
	uint32_t n, atoms[ADSM_PTX_POLY_ATOMS];	/* sorted */
};

/* Sorted by atoms; no two terms have the same. */
struct adsm_ptx_poly {
	uint32_t n;
	struct adsm_ptx_term terms[ADSM_PTX_POLY_TERMS];
};

/* A signed integer in a parameter of the kernel. @offset: less than 65536. @size: 4 or 8 bytes. */
uint32_t adsm_ptx_atom_of_param(uint32_t param, uint32_t offset, uint32_t size);
static inline bool adsm_ptx_atom_is_param(uint32_t atom)
{
	return atom >= ADSM_PTX_ATOM_PARAM;
}

/* Functions that return bool return false if the result is too large, and is not valid. Results may be operands. */
void adsm_ptx_poly_constant(int64_t value, struct adsm_ptx_poly *ret);
void adsm_ptx_poly_atom(uint32_t atom, struct adsm_ptx_poly *ret);
/* a + factor * b */
bool adsm_ptx_poly_add(const struct adsm_ptx_poly *a, int64_t factor, const struct adsm_ptx_poly *b,
		       struct adsm_ptx_poly *ret);
bool adsm_ptx_poly_multiply(const struct adsm_ptx_poly *a, const struct adsm_ptx_poly *b, struct adsm_ptx_poly *ret);
/* Put atom - 1 in place of an atom. */
bool adsm_ptx_poly_step_back(const struct adsm_ptx_poly *a, uint32_t atom, struct adsm_ptx_poly *ret);
bool adsm_ptx_poly_is_constant(const struct adsm_ptx_poly *a, int64_t *ret_value);
bool adsm_ptx_poly_has(const struct adsm_ptx_poly *a, uint32_t atom);
/* Remove the term that is @atom alone. Returns its factor; 0: there is none. */
int64_t adsm_ptx_poly_take(struct adsm_ptx_poly *a, uint32_t atom);
/* In each term, at most one atom is different in different threads or turns of a loop. */
bool adsm_ptx_poly_is_linear(const struct adsm_ptx_poly *a);
/* Append the text to a string. @size: of its memory. */
void adsm_ptx_poly_print(const struct adsm_ptx_poly *a, char *text, size_t size);
