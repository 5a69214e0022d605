/* SPDX-License-Identifier: MIT */
/* svm.c - stencil3d in plain OpenCL with shared virtual memory: of a time step only the source's cell is mapped. */
#include "../common/opencl.h"
#include "stencil3d.h"

void stencil3d_svm(struct pb_run *run)
{
	cl_kernel stencil = pb_cl_kernel(run, "Stencil");
	const struct stencil3d s = stencil3d_size(run);
	float *u, *next, *v, *swap;
	FILE *out;

	u = pb_svm_alloc(run, s.volume_bytes);
	next = pb_svm_alloc(run, s.volume_bytes);
	v = pb_svm_alloc(run, s.v_bytes);

	pb_svm_map(run, v, s.v_bytes, CL_MAP_WRITE_INVALIDATE_REGION);
	stencil3d_medium(&s, v);
	pb_svm_unmap(run, v);
	pb_svm_zero(run, u, s.volume_bytes);
	pb_svm_zero(run, next, s.volume_bytes);

	out = pb_open(run->output, "wb");
	for (int t = 0; t < s.n_steps; t++) {
		pb_cl_call(run, stencil, s.grid, s.block, PB_SVM_POINTER(u), PB_SVM_POINTER(v), PB_SVM_POINTER(next),
			   PB_CL_VALUE(s.n));
		pb_svm_map(run, &next[s.source], sizeof(*next), CL_MAP_READ | CL_MAP_WRITE);
		next[s.source] += stencil3d_wavelet(t);
		pb_svm_unmap(run, &next[s.source]);
		if ((t + 1) % s.write_every == 0) {
			pb_svm_map(run, next, s.volume_bytes, CL_MAP_READ);
			pb_write(run, out, next, s.volume_bytes);
			pb_svm_unmap(run, next);
		}
		swap = u;
		u = next;
		next = swap;
	}
	pb_close(out, run->output);
	pb_stop(run);
	pb_svm_map(run, u, s.volume_bytes, CL_MAP_READ);
	stencil3d_verify(run, u);
	pb_svm_unmap(run, u);

	pb_cl_free(run, u);
	pb_cl_free(run, next);
	pb_cl_free(run, v);
}
