/* SPDX-License-Identifier: MIT */
/* jacobi.c - Jacobi's iteration for a system of equations whose solution is known. */
#include "../program.h"

#include <stdlib.h>
#include <string.h>

#define THREADS 16

/* The same iteration, column by column: each unknown is taken from all right sides. */
static void reference(const float *a, const float *b, double *x, long n, long steps)
{
	double *rest = ps_alloc((size_t)n * sizeof(*rest));

	for (long step = 0; step < steps; step++) {
		for (long i = 0; i < n; i++)
			rest[i] = (double)b[i];
		for (long k = 0; k < n; k++)
			for (long i = 0; i < n; i++)
				rest[i] -= i == k ? 0 : (double)a[i * n + k] * x[k];
		for (long i = 0; i < n; i++)
			x[i] = rest[i] / (double)a[i * n + i];
	}
	free(rest);
}

static void verify(struct po_run *run, const float *a, const float *b, const float *x, const double *solution)
{
	const long n = run->v[0];
	double *want = ps_alloc((size_t)n * sizeof(*want));
	const uint64_t start = ps_now_ns();

	reference(a, b, want, n, run->v[1]);
	run->reference_ns = ps_now_ns() - start;
	for (long i = 0; i < n; i++) {
		ps_check(run->wrong, "an unknown", (size_t)i, (double)x[i], want[i], 1e-5);
		ps_check(run->wrong, "the solution", (size_t)i, (double)x[i], solution[i], 1e-3);
	}
	free(want);
}

static void run_jacobi(struct po_run *run)
{
	struct pb_rng rng = { PO_SEED };
	const long n = run->v[0];
	const size_t size = (size_t)n * sizeof(float);
	float *a = ps_shared(size * (size_t)n), *b = ps_shared(size), *x = ps_shared(size), *next = ps_shared(size);
	float *changes = ps_shared(size);
	double *solution = ps_alloc((size_t)n * sizeof(*solution));

	for (long i = 0; i < n; i++)
		solution[i] = (double)(2 * pb_rng_float(&rng) - 1);
	for (long i = 0; i < n; i++) {
		double right = 0;

		for (long k = 0; k < n; k++) {
			/* The others together are less than the diagonal. */
			a[i * n + k] = i == k ? 1.5f + pb_rng_float(&rng) : (2 * pb_rng_float(&rng) - 1) / (float)n;
			right += (double)a[i * n + k] * solution[k];
		}
		b[i] = (float)right;
	}
	memset(x, 0, size);
	for (long step = 0; step < run->v[1]; step++) {
		float *last = x;

		PO_CALL(run, "jacobi", (n + THREADS - 1) / THREADS, THREADS, adsmPtr(a), adsmPtr(b), adsmPtr(x),
			adsmPtr(next), adsmPtr(changes), adsmVal((int)n));
		x = next;
		next = last;
	}
	po_sync(run);
	for (long i = 0; i < n; i++)
		if (!(changes[i] < 1e-3f))
			ps_wrong(run->wrong, "unknown %ld still changes by %g", i, (double)changes[i]);
	if (run->verify)
		verify(run, a, b, x, solution);
	po_result(run, x, size);
	adsmFree(a);
	adsmFree(b);
	adsmFree(x);
	adsmFree(next);
	adsmFree(changes);
	free(solution);
}

static const struct ps_size sizes[] = { { "small", { 192, 20 } }, { "medium", { 1024, 40 } }, { 0 } };

const struct po_program po_jacobi = {
	"jacobi", "a system of equations by Jacobi's iteration", "unknowns, steps", sizes, false, run_jacobi, NULL,
};
