/* SPDX-License-Identifier: MIT */
/* radix.c - numbers that are sorted by digits, against the library's sort. */
#include "../program.h"

#include <stdlib.h>
#include <string.h>

#define DIGITS 1024
#define N_DIGITS 2			/* of 10 bits */

static int compare(const void *p, const void *q)
{
	const unsigned a = *(const unsigned *)p, b = *(const unsigned *)q;

	return a < b ? -1 : a > b;
}

static void verify(struct pt_run *run, const unsigned *sorted, unsigned *want, long n)
{
	const uint64_t start = ps_now_ns();

	qsort(want, (size_t)n, sizeof(*want), compare);
	run->reference_ns = ps_now_ns() - start;
	for (long i = 0; i < n; i++)
		ps_check(run->wrong, "the sorted number", (size_t)i, sorted[i], want[i], 0);
}

static int run_radix(struct pt_run *run)
{
	const int n = (int)run->v[0];
	const size_t size = (size_t)n * sizeof(unsigned);
	const size_t row = DIGITS * sizeof(int) * run->workers;
	unsigned *a = ps_shared(size), *b = ps_shared(size), *want = ps_alloc(size);
	int levels = 1, error;
	int *counts, *places = ps_shared(row);
	struct pb_rng rng = { PT_SEED };

	while (1u << (levels - 1) < run->workers)
		levels++;
	counts = ps_shared((size_t)levels * row);
	for (int i = 0; i < n; i++)
		a[i] = want[i] = (unsigned)(pb_rng_next(&rng) >> (64 - 10 * N_DIGITS));
	memset(b, 0, size);
	error = PT_CALL(run, "radix", adsmPtr(a), adsmPtr(b), adsmPtr(counts), adsmPtr(places), adsmVal(n),
			adsmVal((int)N_DIGITS));
	run->least = run->most = (struct pt_counts){ 0, N_DIGITS };
	if (!error && run->verify)
		verify(run, a, want, n);
	adsmFree(a);
	adsmFree(b);
	adsmFree(counts);
	adsmFree(places);
	free(want);
	return error;
}

static const struct ps_size sizes[] = {
	{ "small", { 16384 } }, { "medium", { 262144 } }, { "paper", { 1048576 } }, { 0 }
};

const struct pt_program pt_radix = {
	"radix", "numbers are sorted by digits: a tree of flags finds the places", "numbers", sizes, run_radix,
};
