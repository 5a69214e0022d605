/* SPDX-License-Identifier: MIT */
/* cp.h - what the variants of cp share: everything that is not shared data. */
#ifndef PARBOIL_CP_H
#define PARBOIL_CP_H

#include "../common/harness.h"

#define CP_SPACING 0.1f			/* of the grid's points */
#define CP_THREADS_X 16u
#define CP_THREADS_Y 8u
#define CP_POINTS 8u			/* of a thread, in x; as in kernels.c */
#define CP_MAX_ATOMS 4000		/* of a call; as in kernels.cu */

/* One record of the table in constant memory; as in kernels.c. */
struct cp_record { float x, y, dz2, q; };

/* The atoms, in private memory. */
struct cp {
	size_t n;			/* the grid has n x n points, in the plane z = 0 */
	size_t n_atoms, chunk;		/* atoms of a call */
	struct cp_atom { float x, y, z, q; } *atoms;
	struct cp_record *table;	/* of one chunk */
};

/* What the potential must be. */
struct cp_reference {
	size_t n;
	double checksum;
	double *energy;			/* behind the struct, in the same memory */
	double *slope;			/* of it: at most so much, by the atoms that are near */
};

extern const struct pb_bench cp_bench;

void cp_adsm(struct pb_run *run);
void cp_explicit(struct pb_run *run);
void cp_cuda_c(struct pb_run *run);
void cp_cuda(struct pb_run *run);

/* Make the atoms. */
void cp_open(struct cp *ret_cp, const struct pb_run *run);
/* Make the records of @n atoms from number @first on. */
void cp_pack(struct cp *cp, size_t first, size_t n);
/* The sum over all points of the potential, cut off at +-20, where near atoms give spikes. */
double cp_checksum(const float *energy, size_t n);
/* Write the size, the checksum and the first rows as text. */
void cp_write(struct pb_run *run, FILE *out, const float *energy, const struct cp *cp, double checksum);
/* Compare with the reference, and note the result. */
void cp_verify(struct pb_run *run, const float *energy, double checksum);
/* Free the atoms. */
void cp_close(struct cp *cp);

#endif
