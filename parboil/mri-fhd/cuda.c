/* SPDX-License-Identifier: MIT */
/* cuda.c - mri-fhd on CUDA's driver: arrays are sent while the next ones are read from the file. */
#include "../common/cuda.h"
#include "mri-fhd.h"

#include <string.h>

/* Read an array from the file and send it. */
static struct pb_array load(struct pb_run *run, const struct mri_fhd *fhd, size_t size)
{
	struct pb_array array = pb_cu_alloc(run, size);

	pb_cu_read(run, fhd->in.file, run->inputs[0], array);
	return array;
}

void mri_fhd_cuda(struct pb_run *run)
{
	void *rho_phi = pb_cu_kernel(run, "RhoPhi"), *fh = pb_cu_kernel(run, "FH");
	adsmDim grid, block = { .x = MRI_FHD_RHO_THREADS };
	struct pb_array phiR, phiI, dR, dI, rR, rI, x, y, z, outR, outI, samples;
	size_t k_bytes, x_bytes;
	uint32_t n_voxels;
	struct mri_fhd fhd;
	FILE *out;
	int n;

	mri_fhd_open(&fhd, run);
	k_bytes = fhd.in.n_samples * sizeof(float);
	x_bytes = fhd.in.n_voxels * sizeof(float);
	rR = pb_cu_alloc(run, k_bytes);
	rI = pb_cu_alloc(run, k_bytes);
	outR = pb_cu_alloc(run, x_bytes);
	outI = pb_cu_alloc(run, x_bytes);
	samples = pb_cu_alloc(run, fhd.in.n_samples * sizeof(*fhd.samples));

	pb_cu_zero(run, outR);
	pb_cu_zero(run, outI);
	x = load(run, &fhd, x_bytes);
	y = load(run, &fhd, x_bytes);
	z = load(run, &fhd, x_bytes);
	phiR = load(run, &fhd, k_bytes);
	phiI = load(run, &fhd, k_bytes);
	dR = load(run, &fhd, k_bytes);
	dI = load(run, &fhd, k_bytes);

	n = (int)fhd.in.n_samples;
	grid = (adsmDim){ .x = (fhd.in.n_samples + block.x - 1) / block.x };
	pb_cu_call(run, rho_phi, grid, block, &phiR.device, &phiI.device, &dR.device, &dI.device, &rR.device,
		   &rI.device, &n);
	pb_cu_fetch(run, rR, 0, k_bytes);
	pb_cu_fetch(run, rI, 0, k_bytes);
	mri_fhd_pack(&fhd, rR.host, rI.host);
	memcpy(samples.host, fhd.samples, samples.size);
	pb_cu_send(run, samples, 0, samples.size);

	block.x = MRI_FHD_THREADS;
	grid.x = fhd.in.n_voxels / block.x;
	for (size_t k = 0; k < fhd.in.n_samples; k += fhd.tile) {
		uint64_t tile = samples.device + k * sizeof(*fhd.samples);

		n = (int)(fhd.in.n_samples - k < fhd.tile ? fhd.in.n_samples - k : fhd.tile);
		pb_cu_call(run, fh, grid, block, &tile, &n, &x.device, &y.device, &z.device, &outR.device,
			   &outI.device);
	}

	n_voxels = fhd.in.n_voxels;
	out = pb_open(run->output, "wb");
	pb_write(run, out, &n_voxels, sizeof(n_voxels));
	pb_cu_write(run, out, outR);
	pb_cu_write(run, out, outI);
	pb_close(out, run->output);
	pb_stop(run);
	mri_verify(run, outR.host, outI.host);

	pb_cu_free(run, phiR);
	pb_cu_free(run, phiI);
	pb_cu_free(run, dR);
	pb_cu_free(run, dI);
	pb_cu_free(run, rR);
	pb_cu_free(run, rI);
	pb_cu_free(run, x);
	pb_cu_free(run, y);
	pb_cu_free(run, z);
	pb_cu_free(run, outR);
	pb_cu_free(run, outI);
	pb_cu_free(run, samples);
	mri_fhd_close(&fhd);
}
