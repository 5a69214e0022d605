/* SPDX-License-Identifier: MIT */
/* laplace.c - the heat of a square plate whose upper side is warm, and all other sides are cold. */
#include "../program.h"

#include <stdlib.h>
#include <string.h>

#define THREADS 16

/* The same sweep the other way round: each point gives a quarter of itself to each of its neighbours. */
static double sweep(double *u, double *next, long n)
{
	double most = 0;

	memset(next, 0, (size_t)(n * n) * sizeof(*next));
	for (long i = 0; i < n * n; i++) {
		const long x = i % n, y = i / n;

		next[i - (x > 0)] += x > 0 ? u[i] / 4 : 0;
		next[i + (x < n - 1)] += x < n - 1 ? u[i] / 4 : 0;
		next[i - (y > 0 ? n : 0)] += y > 0 ? u[i] / 4 : 0;
		next[i + (y < n - 1 ? n : 0)] += y < n - 1 ? u[i] / 4 : 0;
	}
	for (long i = 0; i < n * n; i++) {
		const long x = i % n, y = i / n;

		if (!x || !y || x == n - 1 || y == n - 1)
			next[i] = u[i];
		most = fmax(most, fabs(next[i] - u[i]));
	}
	return most;
}

static void verify(struct po_run *run, const float *u, const float *changes)
{
	const long n = run->v[0];
	const uint64_t start = po_now_ns();
	double *want = po_alloc((size_t)(n * n) * sizeof(*want)), *next = po_alloc((size_t)(n * n) * sizeof(*next));
	double most = 0, found = 0;

	for (long x = 0; x < n; x++)
		want[x] = 1;
	for (long k = 0; k < run->v[1]; k++) {
		double *last = want;

		most = sweep(want, next, n);
		want = next;
		next = last;
	}
	run->reference_ns = po_now_ns() - start;
	for (long i = 0; i < n * n; i++)
		po_check(run, "a point", (size_t)i, (double)u[i], want[i], 1e-5);
	for (long y = 0; y < n - 2; y++)
		found = fmax(found, (double)changes[y]);
	po_check(run, "the change", 0, found, most, 1e-5);
	free(want);
	free(next);
}

static void run_laplace(struct po_run *run)
{
	const long n = run->v[0];
	const size_t size = (size_t)(n * n) * sizeof(float);
	float *u = po_shared(size), *next = po_shared(size), *changes = po_shared((size_t)n * sizeof(*changes));

	memset(u, 0, size);
	for (long x = 0; x < n; x++)
		u[x] = 1;
	memcpy(next, u, size);
	for (long k = 0; k < run->v[1]; k++) {
		float *last = u;

		PO_CALL(run, "laplace", n - 2, THREADS, adsmPtr(u), adsmPtr(next), adsmPtr(changes), adsmVal((int)n));
		u = next;
		next = last;
	}
	po_sync(run);
	if (run->verify)
		verify(run, u, changes);
	po_result(run, u, size);
	adsmFree(u);
	adsmFree(next);
	adsmFree(changes);
}

static const struct po_size sizes[] = { { "small", { 98, 20 } }, { "medium", { 514, 60 } }, { 0 } };

const struct po_program po_laplace = {
	"laplace", "Laplace's equation on a square, five points", "points a side, sweeps", sizes, false, run_laplace,
};
