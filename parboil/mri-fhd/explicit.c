/* SPDX-License-Identifier: MIT */
/* explicit.c - mri-fhd with explicit copies: two pointers for each array. Read beside adsm.c. */
#include "mri-fhd.h"

void mri_fhd_explicit(struct pb_run *run)
{
	adsmKernel *rho_phi = pb_kernel(run, "RhoPhi");
	adsmKernel *fh = pb_kernel(run, "FH");
	adsmDim grid, block = { .x = MRI_FHD_RHO_THREADS };
	float *phiR, *phiI, *dR, *dI, *rR, *rI, *x, *y, *z, *outR, *outI;
	float *d_phiR, *d_phiI, *d_dR, *d_dI, *d_rR, *d_rI, *d_x, *d_y, *d_z, *d_outR, *d_outI;
	size_t k_bytes, x_bytes;
	uint32_t n_voxels;
	struct mri_fhd fhd;
	FILE *out;

	mri_fhd_open(&fhd, run);
	k_bytes = fhd.in.n_samples * sizeof(float);
	x_bytes = fhd.in.n_voxels * sizeof(float);
	phiR = pb_host_alloc(k_bytes);
	phiI = pb_host_alloc(k_bytes);
	dR = pb_host_alloc(k_bytes);
	dI = pb_host_alloc(k_bytes);
	rR = pb_host_alloc(k_bytes);
	rI = pb_host_alloc(k_bytes);
	x = pb_host_alloc(x_bytes);
	y = pb_host_alloc(x_bytes);
	z = pb_host_alloc(x_bytes);
	outR = pb_host_alloc(x_bytes);
	outI = pb_host_alloc(x_bytes);
	d_phiR = pb_device_alloc(k_bytes);
	d_phiI = pb_device_alloc(k_bytes);
	d_dR = pb_device_alloc(k_bytes);
	d_dI = pb_device_alloc(k_bytes);
	d_rR = pb_device_alloc(k_bytes);
	d_rI = pb_device_alloc(k_bytes);
	d_x = pb_device_alloc(x_bytes);
	d_y = pb_device_alloc(x_bytes);
	d_z = pb_device_alloc(x_bytes);
	d_outR = pb_device_alloc(x_bytes);
	d_outI = pb_device_alloc(x_bytes);

	pb_read(run, fhd.in.file, run->inputs[0], x, x_bytes);
	pb_read(run, fhd.in.file, run->inputs[0], y, x_bytes);
	pb_read(run, fhd.in.file, run->inputs[0], z, x_bytes);
	pb_read(run, fhd.in.file, run->inputs[0], phiR, k_bytes);
	pb_read(run, fhd.in.file, run->inputs[0], phiI, k_bytes);
	pb_read(run, fhd.in.file, run->inputs[0], dR, k_bytes);
	pb_read(run, fhd.in.file, run->inputs[0], dI, k_bytes);
	pb_check(adsmCopyToDevice(d_phiR, phiR, k_bytes));
	pb_check(adsmCopyToDevice(d_phiI, phiI, k_bytes));
	pb_check(adsmCopyToDevice(d_dR, dR, k_bytes));
	pb_check(adsmCopyToDevice(d_dI, dI, k_bytes));

	grid = (adsmDim){ .x = (fhd.in.n_samples + block.x - 1) / block.x };
	pb_check(adsmCall(rho_phi, grid, block, adsmPtr(d_phiR), adsmPtr(d_phiI), adsmPtr(d_dR), adsmPtr(d_dI),
			  adsmPtr(d_rR), adsmPtr(d_rI), adsmVal((int)fhd.in.n_samples)));
	pb_check(adsmSync());
	pb_check(adsmCopyToHost(rR, d_rR, k_bytes));
	pb_check(adsmCopyToHost(rI, d_rI, k_bytes));
	mri_fhd_pack(&fhd, rR, rI);

	pb_check(adsmCopyToDevice(d_x, x, x_bytes));
	pb_check(adsmCopyToDevice(d_y, y, x_bytes));
	pb_check(adsmCopyToDevice(d_z, z, x_bytes));
	pb_check(adsmDeviceFill(d_outR, 0, x_bytes));
	pb_check(adsmDeviceFill(d_outI, 0, x_bytes));
	block.x = MRI_FHD_THREADS;
	grid.x = fhd.in.n_voxels / block.x;
	for (size_t k = 0; k < fhd.in.n_samples; k += fhd.tile) {
		size_t n = fhd.in.n_samples - k < fhd.tile ? fhd.in.n_samples - k : fhd.tile;

		pb_check(adsmCall(fh, grid, block,
				  adsmConst(fhd.samples + k, n * sizeof(*fhd.samples)), adsmVal((int)n),
				  adsmPtr(d_x), adsmPtr(d_y), adsmPtr(d_z), adsmPtr(d_outR), adsmPtr(d_outI)));
		pb_check(adsmSync());
	}
	pb_check(adsmCopyToHost(outR, d_outR, x_bytes));
	pb_check(adsmCopyToHost(outI, d_outI, x_bytes));

	n_voxels = fhd.in.n_voxels;
	out = pb_open(run->output, "wb");
	pb_write(run, out, &n_voxels, sizeof(n_voxels));
	pb_write(run, out, outR, x_bytes);
	pb_write(run, out, outI, x_bytes);
	pb_close(out, run->output);
	pb_stop(run);
	mri_verify(run, outR, outI);

	pb_free(d_phiR);
	pb_free(d_phiI);
	pb_free(d_dR);
	pb_free(d_dI);
	pb_free(d_rR);
	pb_free(d_rI);
	pb_free(d_x);
	pb_free(d_y);
	pb_free(d_z);
	pb_free(d_outR);
	pb_free(d_outI);
	pb_host_free(phiR);
	pb_host_free(phiI);
	pb_host_free(dR);
	pb_host_free(dI);
	pb_host_free(rR);
	pb_host_free(rI);
	pb_host_free(x);
	pb_host_free(y);
	pb_host_free(z);
	pb_host_free(outR);
	pb_host_free(outI);
	mri_fhd_close(&fhd);
}
