/* SPDX-License-Identifier: MIT */
/* mri-q.h - what the variants of mri-q share: everything that is not shared data. */
#ifndef PARBOIL_MRI_Q_H
#define PARBOIL_MRI_Q_H

#include "../common/mri.h"

#define MRI_Q_PHI_MAG_THREADS 512u
#define MRI_Q_THREADS MRI_THREADS	/* of ComputeQ */

/* One record of the table in constant memory; as in kernels.c. */
struct ksample { float kx, ky, kz, m; };

/* The samples of k-space, in private memory. */
struct mri_q {
	struct mri_input in;
	size_t tile;			/* samples of a call */
	struct ksample *samples;
};

extern const struct pb_bench mri_q_bench;

void mri_q_adsm(struct pb_run *run);
void mri_q_explicit(struct pb_run *run);
void mri_q_opencl(struct pb_run *run);
void mri_q_svm(struct pb_run *run);
void mri_q_cuda(struct pb_run *run);

/* Open and check the input file, and read kx, ky, kz. */
void mri_q_open(struct mri_q *ret_q, struct pb_run *run);
/* Make the records from kx, ky, kz and what ComputePhiMag wrote. */
void mri_q_pack(struct mri_q *q, const float *phiMag);
/* Close the file and free the samples. */
void mri_q_close(struct mri_q *q);

#endif
