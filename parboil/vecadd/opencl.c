/* SPDX-License-Identifier: MIT */
/* opencl.c - vecadd in plain OpenCL with buffers: the first vector is sent while the second one is filled. */
#include "../common/opencl.h"
#include "vecadd.h"

void vecadd_opencl(struct pb_run *run)
{
	cl_kernel vecadd = pb_cl_kernel(run, "vecadd");
	size_t n = vecadd_length(run), bytes = n * sizeof(float);
	adsmDim grid, block = { .x = VECADD_THREADS };
	struct pb_rng rng = vecadd_rng();
	cl_int length = (cl_int)n;
	cl_mem d_a, d_b, d_c;
	float *a, *b, *c;
	double total;

	a = pb_host_alloc(bytes);
	b = pb_host_alloc(bytes);
	c = pb_host_alloc(bytes);
	d_a = pb_cl_alloc(run, bytes);
	d_b = pb_cl_alloc(run, bytes);
	d_c = pb_cl_alloc(run, bytes);

	vecadd_fill(&rng, a, n);
	pb_cl_write(run, d_a, 0, a, bytes);
	pb_cl_flush(run);
	vecadd_fill(&rng, b, n);
	pb_cl_write(run, d_b, 0, b, bytes);

	grid = (adsmDim){ .x = (n + block.x - 1) / block.x };
	pb_cl_call(run, vecadd, grid, block, PB_CL_POINTER(d_a), PB_CL_POINTER(d_b), PB_CL_POINTER(d_c),
		   PB_CL_VALUE(length));
	pb_cl_read(run, c, d_c, 0, bytes);

	total = vecadd_total(c, n);
	pb_stop(run);
	vecadd_verify(run, c, total);

	pb_cl_free(run, d_a);
	pb_cl_free(run, d_b);
	pb_cl_free(run, d_c);
	pb_host_free(a);
	pb_host_free(b);
	pb_host_free(c);
}
