/* SPDX-License-Identifier: MIT */
/* cuda.c - mri-q on CUDA's driver: arrays are sent while the next ones are read from the file. */
#include "../common/cuda.h"
#include "mri-q.h"

#include <string.h>

/* Read an array from the file and send it. */
static struct pb_array load(struct pb_run *run, const struct mri_q *q, size_t size)
{
	struct pb_array array = pb_cu_alloc(run, size);

	pb_cu_read(run, q->in.file, run->inputs[0], array);
	return array;
}

void mri_q_cuda(struct pb_run *run)
{
	void *compute_phi_mag = pb_cu_kernel(run, "ComputePhiMag");
	void *compute_q = pb_cu_kernel(run, "ComputeQ");
	adsmDim grid, block = { .x = MRI_Q_PHI_MAG_THREADS };
	struct pb_array phiR, phiI, phiMag, x, y, z, Qr, Qi, samples;
	size_t k_bytes, x_bytes;
	uint32_t n_voxels;
	struct mri_q q;
	FILE *out;
	int n;

	mri_q_open(&q, run);
	k_bytes = q.in.n_samples * sizeof(float);
	x_bytes = q.in.n_voxels * sizeof(float);
	phiMag = pb_cu_alloc(run, k_bytes);
	Qr = pb_cu_alloc(run, x_bytes);
	Qi = pb_cu_alloc(run, x_bytes);
	samples = pb_cu_alloc(run, q.in.n_samples * sizeof(*q.samples));

	pb_cu_zero(run, Qr);
	pb_cu_zero(run, Qi);
	x = load(run, &q, x_bytes);
	y = load(run, &q, x_bytes);
	z = load(run, &q, x_bytes);
	phiR = load(run, &q, k_bytes);
	phiI = load(run, &q, k_bytes);

	n = (int)q.in.n_samples;
	grid = (adsmDim){ .x = (q.in.n_samples + block.x - 1) / block.x };
	pb_cu_call(run, compute_phi_mag, grid, block, &phiR.device, &phiI.device, &phiMag.device, &n);
	pb_cu_fetch(run, phiMag, 0, k_bytes);
	mri_q_pack(&q, phiMag.host);
	memcpy(samples.host, q.samples, samples.size);
	pb_cu_send(run, samples, 0, samples.size);

	block.x = MRI_Q_THREADS;
	grid.x = q.in.n_voxels / block.x;
	for (size_t k = 0; k < q.in.n_samples; k += q.tile) {
		uint64_t tile = samples.device + k * sizeof(*q.samples);

		n = (int)(q.in.n_samples - k < q.tile ? q.in.n_samples - k : q.tile);
		pb_cu_call(run, compute_q, grid, block, &tile, &n, &x.device, &y.device, &z.device, &Qr.device,
			   &Qi.device);
	}

	n_voxels = q.in.n_voxels;
	out = pb_open(run->output, "wb");
	pb_write(run, out, &n_voxels, sizeof(n_voxels));
	pb_cu_write(run, out, Qr);
	pb_cu_write(run, out, Qi);
	pb_close(out, run->output);
	pb_stop(run);
	mri_verify(run, Qr.host, Qi.host);

	pb_cu_free(run, phiR);
	pb_cu_free(run, phiI);
	pb_cu_free(run, phiMag);
	pb_cu_free(run, x);
	pb_cu_free(run, y);
	pb_cu_free(run, z);
	pb_cu_free(run, Qr);
	pb_cu_free(run, Qi);
	pb_cu_free(run, samples);
	mri_q_close(&q);
}
