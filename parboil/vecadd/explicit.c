/* SPDX-License-Identifier: MIT */
/* explicit.c - vecadd with explicit copies: two pointers for each vector. Read beside adsm.c. */
#include "vecadd.h"

void vecadd_explicit(struct pb_run *run)
{
	adsmKernel *vecadd = pb_kernel(run, "vecadd");
	size_t n = vecadd_length(run), bytes = n * sizeof(float);
	adsmDim grid, block = { .x = VECADD_THREADS };
	struct pb_rng rng = vecadd_rng();
	float *a, *b, *c;
	float *d_a, *d_b, *d_c;
	double total;

	a = pb_host_alloc(bytes);
	b = pb_host_alloc(bytes);
	c = pb_host_alloc(bytes);
	d_a = pb_device_alloc(bytes);
	d_b = pb_device_alloc(bytes);
	d_c = pb_device_alloc(bytes);

	vecadd_fill(&rng, a, n);
	vecadd_fill(&rng, b, n);
	pb_check(adsmCopyToDevice(d_a, a, bytes));
	pb_check(adsmCopyToDevice(d_b, b, bytes));

	grid = (adsmDim){ .x = (n + block.x - 1) / block.x };
	pb_check(adsmCall(vecadd, grid, block, adsmPtr(d_a), adsmPtr(d_b), adsmPtr(d_c), adsmVal((int)n)));
	pb_check(adsmSync());
	pb_check(adsmCopyToHost(c, d_c, bytes));

	total = vecadd_total(c, n);
	pb_stop(run);
	vecadd_verify(run, c, total);

	pb_free(d_a);
	pb_free(d_b);
	pb_free(d_c);
	pb_host_free(a);
	pb_host_free(b);
	pb_host_free(c);
}
