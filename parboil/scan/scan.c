/* SPDX-License-Identifier: MIT */
/* scan.c - prefix sums: input, reference, verification. */
#include "scan.h"

#include "../common/rng.h"

_Static_assert(SCAN_N % SCAN_SEGMENT == 0 && SCAN_SEGMENTS <= SCAN_SEGMENT, "one block scans the sums");

static const char *const size_names[] = { "small", "medium", "paper", "full", "cfc", "cfc-thin", "cfc-paper", NULL };
const struct scan_size scan_sizes[] = {
	{ 20, false, false },
	{ 200, false, false },
	{ 1000, false, false },
	{ 1, true, false },
	{ 1000, false, false },
	{ 1000, false, true },
	{ 1000, false, false },
};

void scan_fill(uint32_t *in)
{
	struct pb_rng rng = { 9 };

	for (size_t i = 0; i < SCAN_N; i++)
		in[i] = pb_rng_below(&rng, 1000);
}

unsigned scan_factor(const struct scan_size *size, int i)
{
	const int left = size->n_calls - 1 - i;

	return 1 + (unsigned)(size->thin ? left / (int)SCAN_SEGMENTS : left);
}

uint64_t scan_sum(const uint32_t *out)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < SCAN_N; i++)
		sum += out[i];
	return sum;
}

void scan_segments(uint32_t *values, size_t n, size_t segment)
{
	uint32_t before = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t value = values[i];

		before = i % segment ? before : 0;
		values[i] = before;
		before += value;
	}
}

static void prepare(struct pb_run *run)
{
	struct scan_reference *reference = pb_host_alloc(sizeof(*reference));

	scan_fill(reference->out);
	scan_segments(reference->out, SCAN_N, scan_sizes[run->size].full ? SCAN_N : SCAN_SEGMENT);
	reference->sum = scan_sum(reference->out);
	run->data = reference;
}

void scan_verify(struct pb_run *run, const uint32_t *out, uint64_t sum)
{
	const struct scan_reference *reference = run->data;

	for (size_t i = 0; i < SCAN_N; i++)
		pb_compare(run, out[i], reference->out[i], 0);
	pb_compare(run, sum, reference->sum, 0);
}

const struct pb_bench scan_bench = {
	.name = "scan",
	.about = "prefix sums",
	.sizes = size_names,
	.prepare = prepare,
	.variants = { [PB_ADSM] = scan_adsm, [PB_EXPLICIT] = scan_explicit, PB_IN_CUDA_C(scan_adsm) },
};
