/* SPDX-License-Identifier: MIT */
/*
 * mri-q.c - Q matrix of a non-Cartesian MRI reconstruction: input, reference, verification.
 *
 * For voxel v: Qr = sum over samples k of |phi(k)|^2 cos(2 pi k.v), Qi the same with sin.
 */
#include "mri-q.h"

#include <stdlib.h>

static const char *const size_names[] = { "small", "medium", "paper", "large32", "cfc", "cfc-paper", NULL };
/* Where there is no number of voxels they are all of the lattice; where there is no room, as the original has it. */
static const struct { int32_t n, n_samples; size_t tile; int32_t n_voxels; size_t room; } sizes[] = {
	{ 16, 512, 64, 0, 0 },
	{ 32, 512, 64, 0, 0 },
	{ 64, 2048, 1024, 0, 0 },
	{ 32, 3072, 1024, 0, 0 },
	{ 64, 128, 64, 254 * 1024, 4096 },
	{ 64, 4096, 1024, 254 * 1024, 4096 },
};

static void generate(size_t size, FILE *const *outs)
{
	const int32_t n = sizes[size].n, n_voxels = sizes[size].n_voxels ? sizes[size].n_voxels : n * n * n;

	mri_generate(outs[0], MRI_Q_ARRAYS, n, n_voxels, sizes[size].n_samples);
}

void mri_q_open(struct mri_q *ret_q, struct pb_run *run)
{
	struct mri_q *q = ret_q;

	mri_open(&q->in, run, MRI_Q_ARRAYS);
	q->tile = sizes[run->size].tile;
	q->samples = pb_host_alloc(q->in.n_samples * sizeof(*q->samples));
}

void mri_q_close(struct mri_q *q)
{
	mri_close(&q->in);
	free(q->samples);
}

void mri_q_pack(struct mri_q *q, const float *phiMag)
{
	for (size_t k = 0; k < q->in.n_samples; k++)
		q->samples[k] = (struct ksample){ q->in.kx[k], q->in.ky[k], q->in.kz[k], phiMag[k] };
}

static void weigh(float *const *arrays, size_t k, double *ret_re, double *ret_im)
{
	double phiR = arrays[MRI_PHI_R][k], phiI = arrays[MRI_PHI_I][k];

	*ret_re = phiR * phiR + phiI * phiI;
	*ret_im = 0;
}

static void prepare(struct pb_run *run)
{
	mri_prepare(run, MRI_Q_ARRAYS, weigh);
}

static void adsm(struct pb_run *run)
{
	const struct mri_cfc cfc = {
		.kernel = "ComputeQ", .n_arrays = MRI_Q_ARRAYS, .n_weights = 1, .weigh = weigh,
		.room = sizes[run->size].room, .tile = sizes[run->size].tile,
	};

	if (cfc.room)
		mri_cfc(run, &cfc);
	else
		mri_q_adsm(run);
}

const struct pb_bench mri_q_bench = {
	.name = "mri-q",
	.about = "Q matrix of an MRI reconstruction",
	.sizes = size_names,
	.inputs = "samples and voxels",
	.n_inputs = 1,
	.writes = true,
	.generate = generate,
	.prepare = prepare,
	.variants = { [PB_ADSM] = adsm, [PB_EXPLICIT] = mri_q_explicit, PB_RIVALS(mri_q) },
};
