/* SPDX-License-Identifier: MIT */
/* laplace.c - the heat of a square plate whose upper side is warm, warmer to the right, and the others are cold. */
#include "../program.h"

#include <stdlib.h>
#include <string.h>

#define THREADS 16

/*
 * The same sweep the other way round: each point gives a quarter of itself to each of its neighbours. @changes: the
 * most that a row has changed.
 */
static void sweep(const double *u, double *next, double *changes, long n)
{
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

		changes[y] = x ? changes[y] : 0;
		if (!x || !y || x == n - 1 || y == n - 1)
			next[i] = u[i];
		changes[y] = fmax(changes[y], fabs(next[i] - u[i]));
	}
}

/* The border, and within anything: it is forgotten. */
static void begin(long n, float *u)
{
	struct pb_rng rng = { PO_SEED };

	for (long i = 0; i < n * n; i++) {
		const long x = i % n, y = i / n;

		u[i] = !y ? (float)x / (float)n : !x || x == n - 1 || y == n - 1 ? 0 : pb_rng_float(&rng);
	}
}

static void verify(struct po_run *run, const float *first, const float *u,
		   const float *changes)
{
	const long n = run->v[0];
	const uint64_t start = ps_now_ns();
	double *want = ps_alloc((size_t)(n * n) * sizeof(*want)), *next = ps_alloc((size_t)(n * n) * sizeof(*next));
	double *most = ps_alloc((size_t)n * sizeof(*most));

	for (long i = 0; i < n * n; i++)
		want[i] = (double)first[i];
	for (long k = 0; k < run->v[1]; k++) {
		double *last = want;

		sweep(want, next, most, n);
		want = next;
		next = last;
	}
	run->reference_ns = ps_now_ns() - start;
	for (long i = 0; i < n * n; i++)
		ps_check(run->wrong, "a point", (size_t)i, (double)u[i], want[i], 1e-5);
	for (long y = 1; y < n - 1; y++)
		ps_check(run->wrong, "the change", (size_t)y, (double)changes[y - 1], most[y], 1e-6);
	free(most);
	free(want);
	free(next);
}

static void run_laplace(struct po_run *run)
{
	const long n = run->v[0];
	const size_t size = (size_t)(n * n) * sizeof(float);
	float *u = ps_shared(size), *next = ps_shared(size), *changes = ps_shared((size_t)n * sizeof(*changes));
	float *start = ps_alloc(size);

	begin(n, start);
	memcpy(u, start, size);
	memcpy(next, start, size);
	for (long k = 0; k < run->v[1]; k++) {
		float *last = u;

		PO_CALL(run, "laplace", n - 2, THREADS, adsmPtr(u), adsmPtr(next), adsmPtr(changes), adsmVal((int)n));
		u = next;
		next = last;
	}
	po_sync(run);
	if (run->verify)
		verify(run, start, u, changes);
	po_result(run, u, size);
	adsmFree(u);
	adsmFree(next);
	adsmFree(changes);
	free(start);
}

static const struct ps_size sizes[] = { { "small", { 98, 20 } }, { "medium", { 514, 60 } }, { 0 } };

const struct po_program po_laplace = {
	"laplace", "Laplace's equation on a square, five points", "points a side, sweeps", sizes, false,
	run_laplace, NULL,
};
