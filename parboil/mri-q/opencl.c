/* SPDX-License-Identifier: MIT */
/* opencl.c - mri-q in plain OpenCL with buffers: arrays are sent while the next ones are read from the file. */
#include "../common/opencl.h"
#include "mri-q.h"

/* Read an array from the file and send it. */
static void load(struct pb_run *run, const struct mri_q *q, float *array, cl_mem d_array, size_t size)
{
	pb_read(run, q->in.file, run->inputs[0], array, size);
	pb_cl_write(run, d_array, 0, array, size);
	pb_cl_flush(run);
}

void mri_q_opencl(struct pb_run *run)
{
	cl_kernel compute_phi_mag = pb_cl_kernel(run, "ComputePhiMag");
	cl_kernel compute_q = pb_cl_kernel(run, "ComputeQ");
	adsmDim grid, block = { .x = MRI_Q_PHI_MAG_THREADS };
	float *phiR, *phiI, *phiMag, *x, *y, *z, *Qr, *Qi;
	cl_mem d_phiR, d_phiI, d_phiMag, d_x, d_y, d_z, d_Qr, d_Qi, d_samples;
	size_t k_bytes, x_bytes;
	uint32_t n_voxels;
	struct mri_q q;
	cl_int n;
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
	d_phiR = pb_cl_alloc(run, k_bytes);
	d_phiI = pb_cl_alloc(run, k_bytes);
	d_phiMag = pb_cl_alloc(run, k_bytes);
	d_x = pb_cl_alloc(run, x_bytes);
	d_y = pb_cl_alloc(run, x_bytes);
	d_z = pb_cl_alloc(run, x_bytes);
	d_Qr = pb_cl_alloc(run, x_bytes);
	d_Qi = pb_cl_alloc(run, x_bytes);
	d_samples = pb_cl_alloc(run, q.tile * sizeof(*q.samples));

	pb_cl_zero(run, d_Qr, x_bytes);
	pb_cl_zero(run, d_Qi, x_bytes);
	load(run, &q, x, d_x, x_bytes);
	load(run, &q, y, d_y, x_bytes);
	load(run, &q, z, d_z, x_bytes);
	load(run, &q, phiR, d_phiR, k_bytes);
	load(run, &q, phiI, d_phiI, k_bytes);

	n = (cl_int)q.in.n_samples;
	grid = (adsmDim){ .x = (q.in.n_samples + block.x - 1) / block.x };
	pb_cl_call(run, compute_phi_mag, grid, block, PB_CL_POINTER(d_phiR), PB_CL_POINTER(d_phiI),
		   PB_CL_POINTER(d_phiMag), PB_CL_VALUE(n));
	pb_cl_read(run, phiMag, d_phiMag, 0, k_bytes);
	mri_q_pack(&q, phiMag);

	block.x = MRI_Q_THREADS;
	grid.x = q.in.n_voxels / block.x;
	for (size_t k = 0; k < q.in.n_samples; k += q.tile) {
		n = (cl_int)(q.in.n_samples - k < q.tile ? q.in.n_samples - k : q.tile);
		pb_cl_write(run, d_samples, 0, q.samples + k, (size_t)n * sizeof(*q.samples));
		pb_cl_call(run, compute_q, grid, block, PB_CL_CONST(d_samples), PB_CL_VALUE(n), PB_CL_POINTER(d_x),
			   PB_CL_POINTER(d_y), PB_CL_POINTER(d_z), PB_CL_POINTER(d_Qr), PB_CL_POINTER(d_Qi));
	}
	pb_cl_read(run, Qr, d_Qr, 0, x_bytes);
	pb_cl_read(run, Qi, d_Qi, 0, x_bytes);

	n_voxels = q.in.n_voxels;
	out = pb_open(run->output, "wb");
	pb_write(run, out, &n_voxels, sizeof(n_voxels));
	pb_write(run, out, Qr, x_bytes);
	pb_write(run, out, Qi, x_bytes);
	pb_close(out, run->output);
	pb_stop(run);
	mri_verify(run, Qr, Qi);

	pb_cl_free(run, d_phiR);
	pb_cl_free(run, d_phiI);
	pb_cl_free(run, d_phiMag);
	pb_cl_free(run, d_x);
	pb_cl_free(run, d_y);
	pb_cl_free(run, d_z);
	pb_cl_free(run, d_Qr);
	pb_cl_free(run, d_Qi);
	pb_cl_free(run, d_samples);
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
