/* SPDX-License-Identifier: MIT */
/* stencil3d.h - what the variants of stencil3d share: everything that is not shared data. */
#ifndef PARBOIL_STENCIL3D_H
#define PARBOIL_STENCIL3D_H

#include "../common/harness.h"

#define STENCIL3D_HALO 4	/* cells around a volume, always 0; as in kernels.c */

/* What a size means. */
struct stencil3d {
	int n;				/* cells on each axis, halo not counted */
	int n_steps, write_every;	/* time steps; of which each so many writes the volume */
	size_t volume_bytes;		/* of u: n^3 cells in their halo, x fastest */
	size_t v_bytes;			/* of v: n^3 cells */
	size_t source;			/* index in u of the cell that the source is in */
	adsmDim grid, block;		/* of Stencil */
};

/* What the newest volume must be. */
struct stencil3d_reference {
	struct stencil3d s;
	size_t n_cells;			/* halo counted */
	double max;			/* largest absolute value */
	double *u;			/* behind the struct, in the same memory */
};

extern const struct pb_bench stencil3d_bench;

void stencil3d_adsm(struct pb_run *run);
void stencil3d_explicit(struct pb_run *run);
void stencil3d_opencl(struct pb_run *run);
void stencil3d_svm(struct pb_run *run);
void stencil3d_cuda(struct pb_run *run);

struct stencil3d stencil3d_size(const struct pb_run *run);
/* Write what the medium is like. */
void stencil3d_medium(const struct stencil3d *s, float *v);
/* What the source adds to its cell in time step @t. */
double stencil3d_wavelet(int t);
/* Compare the newest volume with the reference, and note the result. */
void stencil3d_verify(struct pb_run *run, const float *u);

#endif
