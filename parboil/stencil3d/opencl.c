/* SPDX-License-Identifier: MIT */
/* opencl.c - stencil3d in plain OpenCL with buffers: of a time step only the source's cell is copied. */
#include "../common/opencl.h"
#include "stencil3d.h"

void stencil3d_opencl(struct pb_run *run)
{
	cl_kernel stencil = pb_cl_kernel(run, "Stencil");
	const struct stencil3d s = stencil3d_size(run);
	const size_t source = s.source * sizeof(float);
	cl_mem d_u, d_next, d_v, d_swap;
	float *next, *v;
	FILE *out;

	next = pb_host_alloc(s.volume_bytes);
	v = pb_host_alloc(s.v_bytes);
	d_u = pb_cl_alloc(run, s.volume_bytes);
	d_next = pb_cl_alloc(run, s.volume_bytes);
	d_v = pb_cl_alloc(run, s.v_bytes);

	pb_cl_zero(run, d_u, s.volume_bytes);
	pb_cl_zero(run, d_next, s.volume_bytes);
	pb_cl_flush(run);
	stencil3d_medium(&s, v);
	pb_cl_write(run, d_v, 0, v, s.v_bytes);

	out = pb_open(run->output, "wb");
	for (int t = 0; t < s.n_steps; t++) {
		pb_cl_call(run, stencil, s.grid, s.block, PB_CL_POINTER(d_u), PB_CL_POINTER(d_v),
			   PB_CL_POINTER(d_next), PB_CL_VALUE(s.n));
		pb_cl_read(run, &next[s.source], d_next, source, sizeof(*next));
		next[s.source] += stencil3d_wavelet(t);
		pb_cl_write(run, d_next, source, &next[s.source], sizeof(*next));
		if ((t + 1) % s.write_every == 0) {
			pb_cl_read(run, next, d_next, 0, s.volume_bytes);
			pb_write(run, out, next, s.volume_bytes);
		}
		d_swap = d_u;
		d_u = d_next;
		d_next = d_swap;
	}
	pb_close(out, run->output);
	pb_stop(run);
	/* The last time step was written. */
	stencil3d_verify(run, next);

	pb_cl_free(run, d_u);
	pb_cl_free(run, d_next);
	pb_cl_free(run, d_v);
	pb_host_free(next);
	pb_host_free(v);
}
