/* SPDX-License-Identifier: MIT */
/* adsm.c - mri-q with shared memory: one pointer for each array. Read beside explicit.c. */
#include "mri-q.h"

#include <string.h>

void mri_q_adsm(struct pb_run *run)
{
	adsmKernel *compute_phi_mag = pb_kernel(run, "ComputePhiMag");
	adsmKernel *compute_q = pb_kernel(run, "ComputeQ");
	adsmDim grid, block = { .x = MRI_Q_PHI_MAG_THREADS };
	float *phiR, *phiI, *phiMag, *x, *y, *z, *Qr, *Qi;
	size_t k_bytes, x_bytes;
	uint32_t n_voxels;
	struct mri_q q;
	FILE *out;

	mri_q_open(&q, run);
	k_bytes = q.in.n_samples * sizeof(float);
	x_bytes = q.in.n_voxels * sizeof(float);
	phiR = pb_shared_alloc(k_bytes);
	phiI = pb_shared_alloc(k_bytes);
	phiMag = pb_shared_alloc(k_bytes);
	x = pb_shared_alloc(x_bytes);
	y = pb_shared_alloc(x_bytes);
	z = pb_shared_alloc(x_bytes);
	Qr = pb_shared_alloc(x_bytes);
	Qi = pb_shared_alloc(x_bytes);

	pb_read(run, q.in.file, run->inputs[0], x, x_bytes);
	pb_read(run, q.in.file, run->inputs[0], y, x_bytes);
	pb_read(run, q.in.file, run->inputs[0], z, x_bytes);
	pb_read(run, q.in.file, run->inputs[0], phiR, k_bytes);
	pb_read(run, q.in.file, run->inputs[0], phiI, k_bytes);

	grid = (adsmDim){ .x = (q.in.n_samples + block.x - 1) / block.x };
	pb_check(adsmCall(compute_phi_mag, grid, block, adsmPtr(phiR), adsmPtr(phiI),
			  adsmPtr(phiMag), adsmVal((int)q.in.n_samples)));
	pb_check(adsmSync());
	mri_q_pack(&q, phiMag);

	memset(Qr, 0, x_bytes);
	memset(Qi, 0, x_bytes);
	block.x = MRI_Q_THREADS;
	grid.x = q.in.n_voxels / block.x;
	for (size_t k = 0; k < q.in.n_samples; k += q.tile) {
		size_t n = q.in.n_samples - k < q.tile ? q.in.n_samples - k : q.tile;

		pb_check(adsmCall(compute_q, grid, block,
				  adsmConst(q.samples + k, n * sizeof(*q.samples)), adsmVal((int)n),
				  adsmPtr(x), adsmPtr(y), adsmPtr(z), adsmPtr(Qr), adsmPtr(Qi)));
		pb_check(adsmSync());
	}

	n_voxels = q.in.n_voxels;
	out = pb_open(run->output, "wb");
	pb_write(run, out, &n_voxels, sizeof(n_voxels));
	pb_write(run, out, Qr, x_bytes);
	pb_write(run, out, Qi, x_bytes);
	pb_close(out, run->output);
	pb_stop(run);
	mri_verify(run, Qr, Qi);

	pb_free(phiR);
	pb_free(phiI);
	pb_free(phiMag);
	pb_free(x);
	pb_free(y);
	pb_free(z);
	pb_free(Qr);
	pb_free(Qi);
	mri_q_close(&q);
}
