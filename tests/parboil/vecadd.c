/* SPDX-License-Identifier: MIT */
/* vecadd.c - generator, reference and verification of vecadd against known values. */
#include "golden.h"

#include "../../parboil/vecadd/vecadd.h"

enum { SMALL = 0, PAPER = 2 };

static void check_reference(size_t size, size_t n, double total, double first, double last, uint64_t hash)
{
	struct pb_run run = golden_run(&vecadd_bench, size);
	const struct vecadd_reference *reference = run.data;

	CHECK(vecadd_length(&run) == n && reference->n == n);
	CHECK(near(reference->total, total));
	CHECK(near(vecadd_total(reference->c, n), total));
	CHECK(near(reference->c[0], first));
	CHECK(near(reference->c[n - 1], last));
	CHECK(pb_fnv(PB_FNV_INIT, reference->c, n * sizeof(*reference->c)) == hash);
	golden_finish(&run);
}

/* What is right passes, and one wrong value or no number at all does not. */
static void check_verification(void)
{
	struct pb_run run = golden_run(&vecadd_bench, SMALL);
	const struct vecadd_reference *reference = run.data;
	const size_t n = reference->n;
	struct pb_rng rng = vecadd_rng();
	float *a = pb_host_alloc(n * sizeof(*a)), *b = pb_host_alloc(n * sizeof(*b));
	float *c = pb_host_alloc(n * sizeof(*c));
	double total;

	vecadd_fill(&rng, a, n);
	vecadd_fill(&rng, b, n);
	for (size_t i = 0; i < n; i++)
		c[i] = a[i] + b[i];
	total = vecadd_total(c, n);
	vecadd_verify(&run, c, total);
	CHECK(pb_verified(&run.result) && run.result.n_compared == n + 1);
	/* Not even the last bit. */
	c[n - 1] = nextafterf(c[n - 1], 0);
	vecadd_verify(&run, c, total);
	CHECK(run.result.n_wrong == 1);
	c[n - 1] = NAN;
	vecadd_verify(&run, c, total);
	CHECK(run.result.n_wrong == 2 && !pb_verified(&run.result));
	c[n - 1] = a[n - 1] + b[n - 1];
	vecadd_verify(&run, c, total - 0.01);
	CHECK(run.result.n_wrong == 3);
	vecadd_verify(&run, c, NAN);
	CHECK(run.result.n_wrong == 4);
	free(a);
	free(b);
	free(c);
	golden_finish(&run);
}

int main(void)
{
	check_reference(SMALL, 262144, 2622824.17805, 5.90035534, 8.41820431, UINT64_C(0xc7fd24e421c7df6a));
	check_reference(PAPER, 8388608, 83889262.9607, 12.4729843, 11.669591, UINT64_C(0xdbae66d402f36c64));
	check_verification();
	return 0;
}
