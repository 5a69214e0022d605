/* SPDX-License-Identifier: MIT */
/* vecadd.c - sum of two vectors, which CPU and accelerator only walk through: input, reference, verification. */
#include "vecadd.h"

#include <math.h>
#include <stdlib.h>

static const char *const size_names[] = { "small", "medium", "paper", NULL };
static const size_t lengths[] = { 262144, 2097152, 8388608 };

size_t vecadd_length(const struct pb_run *run)
{
	return lengths[run->size];
}

struct pb_rng vecadd_rng(void)
{
	return (struct pb_rng){ 7 };
}

void vecadd_fill(struct pb_rng *rng, float *vector, size_t n)
{
	for (size_t i = 0; i < n; i++)
		vector[i] = 10.0f * pb_rng_float(rng);
}

double vecadd_total(const float *vector, size_t n)
{
	double total = 0;

	for (size_t i = 0; i < n; i++)
		total += vector[i];
	return total;
}

static void prepare(struct pb_run *run)
{
	const size_t n = vecadd_length(run);
	struct vecadd_reference *reference = pb_host_alloc(sizeof(*reference) + n * sizeof(float));
	struct pb_rng rng = vecadd_rng();
	float *b = pb_host_alloc(n * sizeof(*b));

	reference->n = n;
	reference->c = (float *)(reference + 1);
	vecadd_fill(&rng, reference->c, n);
	vecadd_fill(&rng, b, n);
	reference->total = 0;
	for (size_t i = n; i-- > 0; ) {
		/* Exact in double precision, so rounded once. */
		reference->c[i] = (float)((double)reference->c[i] + b[i]);
		reference->total += reference->c[i];
	}
	free(b);
	run->data = reference;
}

void vecadd_verify(struct pb_run *run, const float *c, double total)
{
	const struct vecadd_reference *reference = run->data;

	for (size_t i = 0; i < reference->n; i++)
		pb_compare(run, c[i], reference->c[i], 0);
	pb_compare(run, total / reference->total, 1, 1e-9);
}

const struct pb_bench vecadd_bench = {
	.name = "vecadd",
	.about = "sum of two vectors",
	.sizes = size_names,
	.prepare = prepare,
	.variants = { [PB_ADSM] = vecadd_adsm, [PB_EXPLICIT] = vecadd_explicit, PB_RIVALS(vecadd) },
};
