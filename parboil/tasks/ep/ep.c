/* SPDX-License-Identifier: MIT */
/* ep.c - pairs that fall into rings: the generator is the benchmark's own, and so are its sums, where it gives them. */
#include "../program.h"

#include <string.h>

#define SEED 271828183ul
#define MODULUS ((1ul << 46) - 1)
#define MULTIPLIER 1220703125ul
#define BATCH 65536
#define RINGS 10

static void verify(struct pt_run *run, const double *sums, const long *rings, long n)
{
	/* NPB's own, of classes S, W, A, B and C. */
	static const struct { long n; double x, y; } known[] = {
		{ 1l << 24, -3.247834652034740e+3, -6.958407078382297e+3 },
		{ 1l << 25, -2.863319731645753e+3, -6.320053679109499e+3 },
		{ 1l << 28, -4.295875165629892e+3, -1.580732573678431e+4 },
		{ 1l << 30, 4.033815542441498e+4, -2.660669192809235e+4 },
		{ 1l << 32, 4.764367927995374e+4, -8.084072988043731e+4 },
	};
	const uint64_t start = ps_now_ns();
	double want[2] = { 0, 0 };
	long want_rings[RINGS] = { 0 };
	unsigned long state = SEED;

	for (long i = 0; i < n; i++) {
		double x, y, t;

		state = state * MULTIPLIER & MODULUS;
		x = 2 * ((double)state * 0x1p-46) - 1;
		state = state * MULTIPLIER & MODULUS;
		y = 2 * ((double)state * 0x1p-46) - 1;
		t = x * x + y * y;
		if (t > 1)
			continue;
		t = sqrt(-2 * log(t) / t);
		want_rings[(int)fmax(fabs(x * t), fabs(y * t))]++;
		want[0] += x * t;
		want[1] += y * t;
	}
	run->reference_ns = ps_now_ns() - start;
	for (size_t i = 0; i < 2; i++)
		ps_check(run->wrong, "the sum", i, sums[i], want[i], 1e-8);
	for (size_t i = 0; i < RINGS; i++)
		ps_check(run->wrong, "the ring", i, (double)rings[i], (double)want_rings[i], 0);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].n != n)
			continue;
		ps_check(run->wrong, "the benchmark's sum", 0, sums[0], known[i].x, 1e-8);
		ps_check(run->wrong, "the benchmark's sum", 1, sums[1], known[i].y, 1e-8);
	}
}

static int run_ep(struct pt_run *run)
{
	const long n_batches = run->v[0] / BATCH;
	double *sums = ps_shared(2 * sizeof(*sums));
	long *rings = ps_shared(RINGS * sizeof(*rings));
	int error;

	error = PT_CALL(run, "ep", adsmPtr(sums), adsmPtr(rings), adsmVal(n_batches), adsmVal((unsigned long)SEED));
	run->least = run->most = (struct pt_counts){ run->workers, 3 };
	if (!error && run->verify)
		verify(run, sums, rings, run->v[0]);
	adsmFree(sums);
	adsmFree(rings);
	return error;
}

static const struct ps_size sizes[] = {
	{ "small", { 1l << 20 } }, { "medium", { 1l << 24 } }, { "paper", { 1l << 32 } }, { 0 }
};

const struct pt_program pt_ep = {
	"ep", "pairs of Gauss's distribution, counted by rings: nothing shared but the sums", "pairs", sizes, run_ep,
};
