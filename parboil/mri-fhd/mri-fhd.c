/* SPDX-License-Identifier: MIT */
/*
 * mri-fhd.c - F^H d of a non-Cartesian MRI reconstruction: input, reference.
 *
 * For voxel v: out = sum over samples k of conj(phi(k)) d(k) e^(2 pi i k.v), a complex number.
 */
#include "mri-fhd.h"

#include <stdlib.h>

static const char *const size_names[] = { "small", "medium", "paper", "cfc", "cfc-paper", NULL };
/* Where there is no number of voxels they are all of the lattice; where there is no room, as the original has it. */
static const struct { int32_t n, n_samples; size_t tile; int32_t n_voxels; size_t room; } sizes[] = {
	{ 16, 512, 64, 0, 0 },
	{ 32, 512, 64, 0, 0 },
	{ 64, 3072, 512, 0, 0 },
	{ 64, 128, 64, 255 * 1024, 4608 },
	{ 64, 4608, 512, 255 * 1024, 4608 },
};

static void generate(size_t size, FILE *const *outs)
{
	const int32_t n = sizes[size].n, n_voxels = sizes[size].n_voxels ? sizes[size].n_voxels : n * n * n;

	mri_generate(outs[0], MRI_N_ARRAYS, n, n_voxels, sizes[size].n_samples);
}

void mri_fhd_open(struct mri_fhd *ret_fhd, struct pb_run *run)
{
	struct mri_fhd *fhd = ret_fhd;

	mri_open(&fhd->in, run, MRI_N_ARRAYS);
	fhd->tile = sizes[run->size].tile;
	fhd->samples = pb_host_alloc(fhd->in.n_samples * sizeof(*fhd->samples));
}

void mri_fhd_close(struct mri_fhd *fhd)
{
	mri_close(&fhd->in);
	free(fhd->samples);
}

void mri_fhd_pack(struct mri_fhd *fhd, const float *rR, const float *rI)
{
	const struct mri_input *in = &fhd->in;

	for (size_t k = 0; k < in->n_samples; k++)
		fhd->samples[k] = (struct ksample){ in->kx[k], in->ky[k], in->kz[k], rR[k], rI[k] };
}

static void weigh(float *const *arrays, size_t k, double *ret_re, double *ret_im)
{
	double phiR = arrays[MRI_PHI_R][k], phiI = arrays[MRI_PHI_I][k];
	double dR = arrays[MRI_D_R][k], dI = arrays[MRI_D_I][k];

	*ret_re = phiR * dR + phiI * dI;
	*ret_im = phiR * dI - phiI * dR;
}

static void prepare(struct pb_run *run)
{
	mri_prepare(run, MRI_N_ARRAYS, weigh);
}

static void adsm(struct pb_run *run)
{
	const struct mri_cfc cfc = {
		.kernel = "FH", .n_arrays = MRI_N_ARRAYS, .n_weights = 2, .weigh = weigh,
		.room = sizes[run->size].room, .tile = sizes[run->size].tile,
	};

	if (cfc.room)
		mri_cfc(run, &cfc);
	else
		mri_fhd_adsm(run);
}

const struct pb_bench mri_fhd_bench = {
	.name = "mri-fhd",
	.about = "F^H d of an MRI reconstruction",
	.sizes = size_names,
	.inputs = "samples, voxels and d",
	.n_inputs = 1,
	.writes = true,
	.generate = generate,
	.prepare = prepare,
	.variants = { [PB_ADSM] = adsm, [PB_EXPLICIT] = mri_fhd_explicit, PB_CUDA_RIVALS(mri_fhd) },
};
