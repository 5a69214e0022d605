/* SPDX-License-Identifier: MIT */
/* cuda.c - vecadd on CUDA's driver, in the memory that the variant is called after. */
#include "../common/cuda.h"
#include "vecadd.h"

void vecadd_cuda(struct pb_run *run)
{
	void *vecadd = pb_cu_kernel(run, "vecadd");
	size_t n = vecadd_length(run), bytes = n * sizeof(float);
	adsmDim grid, block = { .x = VECADD_THREADS };
	struct pb_rng rng = vecadd_rng();
	struct pb_array a, b, c;
	int length = (int)n;
	double total;

	a = pb_cu_alloc(run, bytes);
	b = pb_cu_alloc(run, bytes);
	c = pb_cu_alloc(run, bytes);

	vecadd_fill(&rng, a.host, n);
	pb_cu_send(run, a, 0, bytes);
	vecadd_fill(&rng, b.host, n);
	pb_cu_send(run, b, 0, bytes);

	grid = (adsmDim){ .x = (n + block.x - 1) / block.x };
	pb_cu_call(run, vecadd, grid, block, &a.device, &b.device, &c.device, &length);
	pb_cu_fetch(run, c, 0, bytes);

	total = vecadd_total(c.host, n);
	pb_stop(run);
	vecadd_verify(run, c.host, total);

	pb_cu_free(run, a);
	pb_cu_free(run, b);
	pb_cu_free(run, c);
}
