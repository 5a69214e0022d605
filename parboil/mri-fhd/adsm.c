/* SPDX-License-Identifier: MIT */
/* adsm.c - mri-fhd with shared memory: one pointer for each array. Read beside explicit.c. */
#include "mri-fhd.h"

#include <string.h>

void mri_fhd_adsm(struct pb_run *run)
{
	adsmKernel *rho_phi = pb_kernel(run, "RhoPhi");
	adsmKernel *fh = pb_kernel(run, "FH");
	adsmDim grid, block = { .x = MRI_FHD_RHO_THREADS };
	float *phiR, *phiI, *dR, *dI, *rR, *rI, *x, *y, *z, *outR, *outI;
	size_t k_bytes, x_bytes;
	uint32_t n_voxels;
	struct mri_fhd fhd;
	FILE *out;

	mri_fhd_open(&fhd, run);
	k_bytes = fhd.in.n_samples * sizeof(float);
	x_bytes = fhd.in.n_voxels * sizeof(float);
	phiR = pb_shared_alloc(k_bytes);
	phiI = pb_shared_alloc(k_bytes);
	dR = pb_shared_alloc(k_bytes);
	dI = pb_shared_alloc(k_bytes);
	rR = pb_shared_alloc(k_bytes);
	rI = pb_shared_alloc(k_bytes);
	x = pb_shared_alloc(x_bytes);
	y = pb_shared_alloc(x_bytes);
	z = pb_shared_alloc(x_bytes);
	outR = pb_shared_alloc(x_bytes);
	outI = pb_shared_alloc(x_bytes);

	pb_read(run, fhd.in.file, run->inputs[0], x, x_bytes);
	pb_read(run, fhd.in.file, run->inputs[0], y, x_bytes);
	pb_read(run, fhd.in.file, run->inputs[0], z, x_bytes);
	pb_read(run, fhd.in.file, run->inputs[0], phiR, k_bytes);
	pb_read(run, fhd.in.file, run->inputs[0], phiI, k_bytes);
	pb_read(run, fhd.in.file, run->inputs[0], dR, k_bytes);
	pb_read(run, fhd.in.file, run->inputs[0], dI, k_bytes);

	grid = (adsmDim){ .x = (fhd.in.n_samples + block.x - 1) / block.x };
	pb_check(adsmCall(rho_phi, grid, block, adsmPtr(phiR), adsmPtr(phiI), adsmPtr(dR), adsmPtr(dI),
			  adsmPtr(rR), adsmPtr(rI), adsmVal((int)fhd.in.n_samples)));
	pb_check(adsmSync());
	mri_fhd_pack(&fhd, rR, rI);

	memset(outR, 0, x_bytes);
	memset(outI, 0, x_bytes);
	block.x = MRI_FHD_THREADS;
	grid.x = fhd.in.n_voxels / block.x;
	for (size_t k = 0; k < fhd.in.n_samples; k += fhd.tile) {
		size_t n = fhd.in.n_samples - k < fhd.tile ? fhd.in.n_samples - k : fhd.tile;

		pb_check(adsmCall(fh, grid, block,
				  adsmConst(fhd.samples + k, n * sizeof(*fhd.samples)), adsmVal((int)n),
				  adsmPtr(x), adsmPtr(y), adsmPtr(z), adsmPtr(outR), adsmPtr(outI)));
		pb_check(adsmSync());
	}

	n_voxels = fhd.in.n_voxels;
	out = pb_open(run->output, "wb");
	pb_write(run, out, &n_voxels, sizeof(n_voxels));
	pb_write(run, out, outR, x_bytes);
	pb_write(run, out, outI, x_bytes);
	pb_close(out, run->output);
	pb_stop(run);
	mri_verify(run, outR, outI);

	pb_free(phiR);
	pb_free(phiI);
	pb_free(dR);
	pb_free(dI);
	pb_free(rR);
	pb_free(rI);
	pb_free(x);
	pb_free(y);
	pb_free(z);
	pb_free(outR);
	pb_free(outI);
	mri_fhd_close(&fhd);
}
