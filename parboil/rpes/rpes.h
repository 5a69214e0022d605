/* SPDX-License-Identifier: MIT */
/* rpes.h - what the variants of rpes share: everything that is not shared data. */
#ifndef PARBOIL_RPES_H
#define PARBOIL_RPES_H

#include "../common/harness.h"

#define RPES_LANES 64u			/* threads of a block */
#define RPES_ATOMS_MAX 255		/* an index has 8 bits in struct block_work */
#define RPES_OFFSET_MAX 255		/* of a shell's first primitive; as well */
#define RPES_COUNT_MAX 15		/* primitives of a shell: 4 bits */
#define RPES_SHELLS_MAX 474		/* their quartets are counted in an int32_t */

/* The tables in constant memory, and the two arrays that the host fills; as in kernels.c. */
struct atom { float x, y, z, unused; };
struct primitive { float exponent, coefficient; };
struct block_work { uint32_t counts, atoms, offsets, first; };
struct final_reduce { uint32_t first, n; };

/* One contracted function: on this atom, the sum of these primitives. */
struct shell { uint32_t atom, first, n; };

/* The molecule, in private memory. */
struct rpes {
	size_t n_atoms, n_primitives, n_shells;
	struct atom atoms[RPES_ATOMS_MAX];
	struct primitive primitives[RPES_OFFSET_MAX + RPES_COUNT_MAX];
	struct shell shells[RPES_SHELLS_MAX];	/* atom by atom, in the order of the basis */
	size_t n_quartets, n_blocks;		/* of shells i <= j <= k <= l; of work */
	unsigned launch;			/* blocks of a call */
	size_t n_read;				/* results that the CPU looks at */
};

/* What the integrals must be. */
struct rpes_reference {
	uint64_t n_combinations, n_screened;	/* of primitives: in all, and too small to count */
	size_t n_quartets;
	double max;				/* largest absolute value */
	double *integrals;			/* behind the struct, in the same memory */
	double *sizes;				/* of each integral, the sum of its terms' absolute values; as well */
};

extern const struct pb_bench rpes_bench;

void rpes_adsm(struct pb_run *run);
void rpes_explicit(struct pb_run *run);
void rpes_cuda(struct pb_run *run);

/* Read and check the input files. */
void rpes_open(struct rpes *ret_rpes, struct pb_run *run);
/* Which blocks make up a quartet, for all quartets; and which quartet a block belongs to, for all blocks. */
void rpes_fill_reduce(const struct rpes *rpes, struct final_reduce *final_reduce);
void rpes_fill_work(const struct rpes *rpes, struct block_work *block_work);
/* Write the first results to the output file. */
void rpes_write(struct pb_run *run, const struct rpes *rpes, const float *reduction_sum);
/* Compare with the reference, and note the result. */
void rpes_verify(struct pb_run *run, const float *reduction_sum);

#endif
