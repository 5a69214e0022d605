/* SPDX-License-Identifier: MIT */
/* adsm.c - vecadd with shared memory: one pointer for each vector. Read beside explicit.c. */
#include "vecadd.h"

void vecadd_adsm(struct pb_run *run)
{
	adsmKernel *vecadd = pb_kernel(run, "vecadd");
	size_t n = vecadd_length(run), bytes = n * sizeof(float);
	adsmDim grid, block = { .x = VECADD_THREADS };
	struct pb_rng rng = vecadd_rng();
	float *a, *b, *c;
	double total;

	a = pb_shared_alloc(bytes);
	b = pb_shared_alloc(bytes);
	c = pb_shared_alloc(bytes);

	vecadd_fill(&rng, a, n);
	vecadd_fill(&rng, b, n);

	grid = (adsmDim){ .x = (n + block.x - 1) / block.x };
	pb_check(adsmCall(vecadd, grid, block, adsmPtr(a), adsmPtr(b), adsmPtr(c), adsmVal((int)n)));
	pb_check(adsmSync());

	total = vecadd_total(c, n);
	pb_stop(run);
	vecadd_verify(run, c, total);

	pb_free(a);
	pb_free(b);
	pb_free(c);
}
