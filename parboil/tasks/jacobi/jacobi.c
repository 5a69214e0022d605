/* SPDX-License-Identifier: MIT */
/* jacobi.c - −∇²u + αu = f on [−1, 1]², whose solution is known: (1 − x²)(1 − y²). */
#include "../program.h"

#include <stdlib.h>
#include <string.h>

#define ALPHA 0.0543

static double solution(long i, int n)
{
	const double h = 2.0 / (n - 1), x = -1 + h * (double)(i % n), y = -1 + h * (double)(i / n);

	return (1 - x * x) * (1 - y * y);
}

/* ∇²u − αu, which is what the iteration solves: the same but for the sign. */
static double right_side(long i, int n)
{
	const double h = 2.0 / (n - 1), x = -1 + h * (double)(i % n), y = -1 + h * (double)(i / n);

	return -2 * (1 - x * x) - 2 * (1 - y * y) - ALPHA * (1 - x * x) * (1 - y * y);
}

/* Returns the sum of the squares of the residuals in the last iteration. */
static double reference(double *u, const double *f, int n, int n_iterations)
{
	const double h = 2.0 / (n - 1), a = 1 / (h * h), b = -4 / (h * h) - ALPHA;
	double *old = ps_alloc((size_t)n * (size_t)n * sizeof(*old)), sum = 0;

	for (int k = 0; k < n_iterations; k++) {
		memcpy(old, u, (size_t)n * (size_t)n * sizeof(*old));
		sum = 0;
		for (long i = n; i < (long)n * (n - 1); i++) {
			double r;

			if (i % n == 0 || i % n == n - 1)
				continue;
			r = (a * (old[i - 1] + old[i + 1] + old[i - n] + old[i + n]) + b * old[i] - f[i]) / b;
			u[i] = old[i] - r;
			sum += r * r;
		}
	}
	free(old);
	return sum;
}

static void verify(struct pt_run *run, const double *u, const double *f, double sum)
{
	const int n = (int)run->v[0], n_iterations = (int)run->v[1];
	const size_t n_points = (size_t)n * (size_t)n;
	double *want = ps_alloc(n_points * sizeof(*want)), before = 0, after = 0;
	const uint64_t start = ps_now_ns();

	ps_check(run->wrong, "the residual", 0, sum, reference(want, f, n, n_iterations), 1e-9);
	run->reference_ns = ps_now_ns() - start;
	for (size_t i = 0; i < n_points; i++) {
		ps_check(run->wrong, "u", i, u[i], want[i], 0);
		before += solution((long)i, n) * solution((long)i, n);
		after += (u[i] - solution((long)i, n)) * (u[i] - solution((long)i, n));
	}
	if (!(after < before))
		ps_wrong(run->wrong, "%d iterations do not approach the solution", n_iterations);
	free(want);
}

static int run_jacobi(struct pt_run *run)
{
	const int n = (int)run->v[0], n_iterations = (int)run->v[1];
	const size_t size = (size_t)n * (size_t)n * sizeof(double);
	double *u = ps_shared(size), *old = ps_shared(size), *f = ps_shared(size);
	double *errors = ps_shared(run->workers * sizeof(*errors)), sum = 0;
	int error;

	memset(u, 0, size);
	memset(errors, 0, run->workers * sizeof(*errors));
	for (long i = 0; i < (long)n * n; i++)
		f[i] = right_side(i, n);
	error = PT_CALL(run, "jacobi", adsmPtr(u), adsmPtr(old), adsmPtr(f), adsmPtr(errors), adsmVal(n),
			adsmVal(n_iterations), adsmVal((double)ALPHA));
	for (unsigned i = 0; i < run->workers && !error; i++)
		sum += errors[i];
	run->least = run->most = (struct pt_counts){ 0, 2 * (uint64_t)n_iterations + 1 };
	if (!error && run->verify)
		verify(run, u, f, sum);
	adsmFree(u);
	adsmFree(old);
	adsmFree(f);
	adsmFree(errors);
	return error;
}

static const struct ps_size sizes[] = {
	{ "small", { 64, 20 } }, { "medium", { 512, 50 } }, { "paper", { 5000, 2000 } }, { 0 }
};

const struct pt_program pt_jacobi = {
	"jacobi", "Helmholtz's equation by Jacobi's iteration: two barriers for each", "points a side, iterations",
	sizes, run_jacobi,
};
