/* SPDX-License-Identifier: MIT */
/* mri.h - what mri-q and mri-fhd share: the input file, the reference, the original's rule of comparison. */
#ifndef PARBOIL_MRI_H
#define PARBOIL_MRI_H

#include "harness.h"

#define MRI_THREADS 256u		/* of the kernel over voxels, which has no bounds test: X is a multiple */

/* The input file: int32 K, int32 X, then arrays of float in this order. x, y, z have X elements, all others K. */
enum mri_array { MRI_KX, MRI_KY, MRI_KZ, MRI_X, MRI_Y, MRI_Z, MRI_PHI_R, MRI_PHI_I, MRI_D_R, MRI_D_I, MRI_N_ARRAYS };
#define MRI_Q_ARRAYS MRI_D_R		/* the file of mri-q ends before d */

struct mri_input {
	FILE *file;			/* read up to x */
	size_t n_samples, n_voxels;	/* K and X */
	float *kx, *ky, *kz;
};

/* What the output must be; run->data. */
struct mri_reference {
	size_t n_voxels;
	double max;			/* largest absolute value */
	double *re, *im;		/* behind the struct, in the same memory */
};

/* Write the first @n_arrays for the first @n_voxels of a lattice of n x n x n. */
void mri_generate(FILE *out, int n_arrays, int32_t n, int32_t n_voxels, int32_t n_samples);
/* Open and check the input file, which has @n_arrays, and read kx, ky, kz. */
void mri_open(struct mri_input *ret_in, struct pb_run *run, int n_arrays);
/* Close the file and free kx, ky, kz. */
void mri_close(struct mri_input *in);

/* w(k) for sample number @k of the arrays. */
typedef void mri_weigh(float *const *arrays, size_t k, double *ret_re, double *ret_im);

/* Make run->data from the input file: at each voxel v the sum over all samples k of w(k) e^(2 pi i k.v). */
void mri_prepare(struct pb_run *run, int n_arrays, mri_weigh *weigh);
/*
 * A run with the shared memory of CUDA-For-Clusters: the voxels, the two arrays of the output, and one of records that
 * the kernel is given through constant memory, tile by tile: kx, ky, kz and the first @n_weights parts of w(k).
 */
struct mri_cfc {
	const char *kernel;
	int n_arrays, n_weights;
	mri_weigh *weigh;
	size_t room, tile;		/* records that there is memory for, and those of a call */
};
void mri_cfc(struct pb_run *run, const struct mri_cfc *cfc);
/* Compare with run->data, and note the result. */
void mri_verify(struct pb_run *run, const float *re, const float *im);

#endif
