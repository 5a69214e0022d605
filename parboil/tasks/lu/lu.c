/* SPDX-License-Identifier: MIT */
/* lu.c - the factors of a dense matrix, against the same by three plain loops. */
#include "../program.h"

#include <stdlib.h>
#include <string.h>

#define B 16

/* Where element (i, j) lies: in its block. */
static size_t at(long i, long j, long n_blocks)
{
	return (size_t)(((i / B) * n_blocks + j / B) * (B * B) + i % B * B + j % B);
}

static void verify(struct pt_run *run, const double *a, const double *given, long n)
{
	double *want = ps_alloc((size_t)(n * n) * sizeof(*want));
	const uint64_t start = ps_now_ns();

	for (long i = 0; i < n; i++)
		for (long j = 0; j < n; j++)
			want[i * n + j] = given[at(i, j, n / B)];
	for (long k = 0; k < n; k++) {
		for (long i = k + 1; i < n; i++) {
			const double l = want[i * n + k] /= want[k * n + k];

			for (long j = k + 1; j < n; j++)
				want[i * n + j] -= l * want[k * n + j];
		}
	}
	run->reference_ns = ps_now_ns() - start;
	for (long i = 0; i < n; i++)
		for (long j = 0; j < n; j++)
			ps_check(run->wrong, "the factor", (size_t)(i * n + j), a[at(i, j, n / B)], want[i * n + j],
				 1e-12);
	free(want);
}

/* Rows of the most square grid of so many workers. */
static int rows_of(int workers)
{
	int rows = 1;

	for (int i = 1; i * i <= workers; i++)
		if (workers % i == 0)
			rows = i;
	return rows;
}

static int run_lu(struct pt_run *run)
{
	const long n = run->v[0];
	const int n_blocks = (int)(n / B), n_rows = rows_of((int)run->workers);
	const size_t size = (size_t)(n * n) * sizeof(double);
	double *a = ps_shared(size), *given = ps_shared(size);
	struct pb_rng rng = { PT_SEED };
	int *next_id = ps_shared(sizeof(*next_id)), error;

	memset(a, 0, size);
	/* No pivots are needed where the diagonal outweighs all else. */
	for (long i = 0; i < n; i++)
		for (long j = 0; j < n; j++)
			given[at(i, j, n_blocks)] = 2 * pt_random(&rng) - 1 + (i == j ? (double)n : 0);
	*next_id = 0;
	error = PT_CALL(run, "lu", adsmPtr(a), adsmPtr(given), adsmPtr(next_id), adsmVal(n_blocks), adsmVal(n_rows));
	run->least = run->most = (struct pt_counts){ run->workers, 2 * (uint64_t)n_blocks + 4 };
	if (!error && run->verify)
		verify(run, a, given, n);
	adsmFree(a);
	adsmFree(given);
	adsmFree(next_id);
	return error;
}

static const struct ps_size sizes[] = {
	{ "small", { 128 } }, { "medium", { 512 } }, { "paper", { 6000 } }, { 0 }
};

const struct pt_program pt_lu = {
	"lu", "a dense matrix is factored in blocks: two barriers for each on the diagonal", "rows", sizes, run_lu,
};
