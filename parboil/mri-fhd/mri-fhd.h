/* SPDX-License-Identifier: MIT */
/* mri-fhd.h - what the variants of mri-fhd share: everything that is not shared data. */
#ifndef PARBOIL_MRI_FHD_H
#define PARBOIL_MRI_FHD_H

#include "../common/mri.h"

#define MRI_FHD_RHO_THREADS 512u
#define MRI_FHD_THREADS MRI_THREADS	/* of FH */

/* One record of the table in constant memory; as in kernels.c. */
struct ksample { float kx, ky, kz, rR, rI; };

/* The samples of k-space, in private memory. */
struct mri_fhd {
	struct mri_input in;
	size_t tile;			/* samples of a call */
	struct ksample *samples;
};

extern const struct pb_bench mri_fhd_bench;

void mri_fhd_adsm(struct pb_run *run);
void mri_fhd_explicit(struct pb_run *run);
void mri_fhd_cuda(struct pb_run *run);

/* Open and check the input file, and read kx, ky, kz. */
void mri_fhd_open(struct mri_fhd *ret_fhd, struct pb_run *run);
/* Make the records from kx, ky, kz and what RhoPhi wrote. */
void mri_fhd_pack(struct mri_fhd *fhd, const float *rR, const float *rI);
/* Close the file and free the samples. */
void mri_fhd_close(struct mri_fhd *fhd);

#endif
