/* SPDX-License-Identifier: MIT */
/* svm.c - vecadd in plain OpenCL with shared virtual memory, mapped around what the CPU does. */
#include "../common/opencl.h"
#include "vecadd.h"

void vecadd_svm(struct pb_run *run)
{
	cl_kernel vecadd = pb_cl_kernel(run, "vecadd");
	size_t n = vecadd_length(run), bytes = n * sizeof(float);
	adsmDim grid, block = { .x = VECADD_THREADS };
	struct pb_rng rng = vecadd_rng();
	cl_int length = (cl_int)n;
	float *a, *b, *c;
	double total;

	a = pb_svm_alloc(run, bytes);
	b = pb_svm_alloc(run, bytes);
	c = pb_svm_alloc(run, bytes);

	pb_svm_map(run, a, bytes, CL_MAP_WRITE_INVALIDATE_REGION);
	vecadd_fill(&rng, a, n);
	pb_svm_unmap(run, a);
	pb_svm_map(run, b, bytes, CL_MAP_WRITE_INVALIDATE_REGION);
	vecadd_fill(&rng, b, n);
	pb_svm_unmap(run, b);

	grid = (adsmDim){ .x = (n + block.x - 1) / block.x };
	pb_cl_call(run, vecadd, grid, block, PB_SVM_POINTER(a), PB_SVM_POINTER(b), PB_SVM_POINTER(c),
		   PB_CL_VALUE(length));

	pb_svm_map(run, c, bytes, CL_MAP_READ);
	total = vecadd_total(c, n);
	pb_stop(run);
	vecadd_verify(run, c, total);
	pb_svm_unmap(run, c);

	pb_cl_free(run, a);
	pb_cl_free(run, b);
	pb_cl_free(run, c);
}
