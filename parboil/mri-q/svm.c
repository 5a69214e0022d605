/* SPDX-License-Identifier: MIT */
/* svm.c - mri-q in plain OpenCL with shared virtual memory, mapped around what the CPU does. */
#include "../common/opencl.h"
#include "mri-q.h"

#include <string.h>

/* Read an array from the file. */
static void load(struct pb_run *run, const struct mri_q *q, float *array, size_t size)
{
	pb_svm_map(run, array, size, CL_MAP_WRITE_INVALIDATE_REGION);
	pb_read(run, q->in.file, run->inputs[0], array, size);
	pb_svm_unmap(run, array);
}

void mri_q_svm(struct pb_run *run)
{
	cl_kernel compute_phi_mag = pb_cl_kernel(run, "ComputePhiMag");
	cl_kernel compute_q = pb_cl_kernel(run, "ComputeQ");
	adsmDim grid, block = { .x = MRI_Q_PHI_MAG_THREADS };
	float *phiR, *phiI, *phiMag, *x, *y, *z, *Qr, *Qi;
	size_t k_bytes, x_bytes, samples_bytes;
	struct ksample *samples;
	uint32_t n_voxels;
	struct mri_q q;
	cl_int n;
	FILE *out;

	mri_q_open(&q, run);
	k_bytes = q.in.n_samples * sizeof(float);
	x_bytes = q.in.n_voxels * sizeof(float);
	samples_bytes = q.in.n_samples * sizeof(*samples);
	phiR = pb_svm_alloc(run, k_bytes);
	phiI = pb_svm_alloc(run, k_bytes);
	phiMag = pb_svm_alloc(run, k_bytes);
	x = pb_svm_alloc(run, x_bytes);
	y = pb_svm_alloc(run, x_bytes);
	z = pb_svm_alloc(run, x_bytes);
	Qr = pb_svm_alloc(run, x_bytes);
	Qi = pb_svm_alloc(run, x_bytes);
	samples = pb_svm_alloc(run, samples_bytes);

	load(run, &q, x, x_bytes);
	load(run, &q, y, x_bytes);
	load(run, &q, z, x_bytes);
	load(run, &q, phiR, k_bytes);
	load(run, &q, phiI, k_bytes);

	n = (cl_int)q.in.n_samples;
	grid = (adsmDim){ .x = (q.in.n_samples + block.x - 1) / block.x };
	pb_cl_call(run, compute_phi_mag, grid, block, PB_SVM_POINTER(phiR), PB_SVM_POINTER(phiI),
		   PB_SVM_POINTER(phiMag), PB_CL_VALUE(n));
	pb_svm_map(run, phiMag, k_bytes, CL_MAP_READ);
	mri_q_pack(&q, phiMag);
	pb_svm_unmap(run, phiMag);
	pb_svm_map(run, samples, samples_bytes, CL_MAP_WRITE_INVALIDATE_REGION);
	memcpy(samples, q.samples, samples_bytes);
	pb_svm_unmap(run, samples);

	pb_svm_zero(run, Qr, x_bytes);
	pb_svm_zero(run, Qi, x_bytes);
	block.x = MRI_Q_THREADS;
	grid.x = q.in.n_voxels / block.x;
	for (size_t k = 0; k < q.in.n_samples; k += q.tile) {
		n = (cl_int)(q.in.n_samples - k < q.tile ? q.in.n_samples - k : q.tile);
		pb_cl_call(run, compute_q, grid, block, PB_SVM_CONST(samples + k), PB_CL_VALUE(n), PB_SVM_POINTER(x),
			   PB_SVM_POINTER(y), PB_SVM_POINTER(z), PB_SVM_POINTER(Qr), PB_SVM_POINTER(Qi));
	}

	pb_svm_map(run, Qr, x_bytes, CL_MAP_READ);
	pb_svm_map(run, Qi, x_bytes, CL_MAP_READ);
	n_voxels = q.in.n_voxels;
	out = pb_open(run->output, "wb");
	pb_write(run, out, &n_voxels, sizeof(n_voxels));
	pb_write(run, out, Qr, x_bytes);
	pb_write(run, out, Qi, x_bytes);
	pb_close(out, run->output);
	pb_stop(run);
	mri_verify(run, Qr, Qi);
	pb_svm_unmap(run, Qr);
	pb_svm_unmap(run, Qi);

	pb_cl_free(run, phiR);
	pb_cl_free(run, phiI);
	pb_cl_free(run, phiMag);
	pb_cl_free(run, x);
	pb_cl_free(run, y);
	pb_cl_free(run, z);
	pb_cl_free(run, Qr);
	pb_cl_free(run, Qi);
	pb_cl_free(run, samples);
	mri_q_close(&q);
}
