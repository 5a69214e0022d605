/* SPDX-License-Identifier: MIT */
/* explicit.c - mri-q with explicit copies: two pointers for each array. Read beside adsm.c. */
#include "mri-q.h"

void mri_q_explicit(struct pb_run *run)
{
	adsmKernel *compute_phi_mag = pb_kernel(run, "ComputePhiMag");
	adsmKernel *compute_q = pb_kernel(run, "ComputeQ");
	adsmDim grid, block = { .x = MRI_Q_PHI_MAG_THREADS };
	float *phiR, *phiI, *phiMag, *x, *y, *z, *Qr, *Qi;
	float *d_phiR, *d_phiI, *d_phiMag, *d_x, *d_y, *d_z, *d_Qr, *d_Qi;
	size_t k_bytes, x_bytes;
	uint32_t n_voxels;
	struct mri_q q;
	FILE *out;

	mri_q_open(&q, run);
	k_bytes = q.in.n_samples * sizeof(float);
	x_bytes = q.in.n_voxels * sizeof(float);
	phiR = pb_host_alloc(k_bytes);
	phiI = pb_host_alloc(k_bytes);
	phiMag = pb_host_alloc(k_bytes);
	x = pb_host_alloc(x_bytes);
	y = pb_host_alloc(x_bytes);
	z = pb_host_alloc(x_bytes);
	Qr = pb_host_alloc(x_bytes);
	Qi = pb_host_alloc(x_bytes);
	d_phiR = pb_device_alloc(k_bytes);
	d_phiI = pb_device_alloc(k_bytes);
	d_phiMag = pb_device_alloc(k_bytes);
	d_x = pb_device_alloc(x_bytes);
	d_y = pb_device_alloc(x_bytes);
	d_z = pb_device_alloc(x_bytes);
	d_Qr = pb_device_alloc(x_bytes);
	d_Qi = pb_device_alloc(x_bytes);

	pb_read(run, q.in.file, run->inputs[0], x, x_bytes);
	pb_read(run, q.in.file, run->inputs[0], y, x_bytes);
	pb_read(run, q.in.file, run->inputs[0], z, x_bytes);
	pb_read(run, q.in.file, run->inputs[0], phiR, k_bytes);
	pb_read(run, q.in.file, run->inputs[0], phiI, k_bytes);
	pb_check(adsmCopyToDevice(d_phiR, phiR, k_bytes));
	pb_check(adsmCopyToDevice(d_phiI, phiI, k_bytes));

	grid = (adsmDim){ .x = (q.in.n_samples + block.x - 1) / block.x };
	pb_check(adsmCall(compute_phi_mag, grid, block, adsmPtr(d_phiR), adsmPtr(d_phiI),
			  adsmPtr(d_phiMag), adsmVal((int)q.in.n_samples)));
	pb_check(adsmSync());
	pb_check(adsmCopyToHost(phiMag, d_phiMag, k_bytes));
	mri_q_pack(&q, phiMag);

	pb_check(adsmCopyToDevice(d_x, x, x_bytes));
	pb_check(adsmCopyToDevice(d_y, y, x_bytes));
	pb_check(adsmCopyToDevice(d_z, z, x_bytes));
	pb_check(adsmDeviceFill(d_Qr, 0, x_bytes));
	pb_check(adsmDeviceFill(d_Qi, 0, x_bytes));
	block.x = MRI_Q_THREADS;
	grid.x = q.in.n_voxels / block.x;
	for (size_t k = 0; k < q.in.n_samples; k += q.tile) {
		size_t n = q.in.n_samples - k < q.tile ? q.in.n_samples - k : q.tile;

		pb_check(adsmCall(compute_q, grid, block,
				  adsmConst(q.samples + k, n * sizeof(*q.samples)), adsmVal((int)n),
				  adsmPtr(d_x), adsmPtr(d_y), adsmPtr(d_z), adsmPtr(d_Qr), adsmPtr(d_Qi)));
		pb_check(adsmSync());
	}
	pb_check(adsmCopyToHost(Qr, d_Qr, x_bytes));
	pb_check(adsmCopyToHost(Qi, d_Qi, x_bytes));

	n_voxels = q.in.n_voxels;
	out = pb_open(run->output, "wb");
	pb_write(run, out, &n_voxels, sizeof(n_voxels));
	pb_write(run, out, Qr, x_bytes);
	pb_write(run, out, Qi, x_bytes);
	pb_close(out, run->output);
	pb_stop(run);
	mri_verify(run, Qr, Qi);

	pb_free(d_phiR);
	pb_free(d_phiI);
	pb_free(d_phiMag);
	pb_free(d_x);
	pb_free(d_y);
	pb_free(d_z);
	pb_free(d_Qr);
	pb_free(d_Qi);
	pb_host_free(phiR);
	pb_host_free(phiI);
	pb_host_free(phiMag);
	pb_host_free(x);
	pb_host_free(y);
	pb_host_free(z);
	pb_host_free(Qr);
	pb_host_free(Qi);
	mri_q_close(&q);
}
