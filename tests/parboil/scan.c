/* SPDX-License-Identifier: MIT */
/* scan.c - generator, reference and verification of scan against known values. */
#include "golden.h"

#include <string.h>

#include "../../parboil/scan/scan.h"

/* The hash of a scan of the first @n values of the input. */
static uint64_t hash(size_t n, size_t segment)
{
	static uint32_t values[SCAN_N];

	scan_fill(values);
	scan_segments(values, n, segment);
	return pb_fnv(PB_FNV_INIT, values, n * sizeof(*values));
}

static void check_size(size_t size, uint64_t golden)
{
	struct pb_run run = golden_run(&scan_bench, size);
	const struct scan_reference *reference = run.data;
	static uint32_t out[SCAN_N];

	CHECK(pb_fnv(PB_FNV_INIT, reference->out, sizeof(reference->out)) == golden);

	/* What is right passes, and one wrong value or sum does not. */
	memcpy(out, reference->out, sizeof(out));
	scan_verify(&run, out, scan_sum(out));
	CHECK(pb_verified(&run.result) && run.result.max_error == 0 && run.result.n_compared == SCAN_N + 1);
	out[SCAN_N - 1]++;
	scan_verify(&run, out, scan_sum(reference->out));
	CHECK(run.result.n_wrong == 1 && run.result.max_error == 1 && !pb_verified(&run.result));
	scan_verify(&run, reference->out, scan_sum(out));
	CHECK(run.result.n_wrong == 2);
	golden_finish(&run);
}

int main(void)
{
	static uint32_t in[SCAN_N];
	uint64_t total = 0;

	scan_fill(in);
	CHECK(in[0] == 630 && in[1] == 14 && in[2] == 205 && in[3] == 142);
	for (size_t i = 0; i < SCAN_N; i++) {
		CHECK(i != 12800 || total == 6372715);
		total += in[i];
	}
	CHECK(total == 12708654);
	CHECK(hash(12800, 256) == 0x6e8b859a5bbf7993);
	CHECK(hash(12800, 12800) == 0xa388ca1defe77255);
	for (size_t size = 0; scan_bench.sizes[size]; size++)
		check_size(size, scan_sizes[size].full ? 0xa2884f26f71912d6 : 0xcb0ce6e7adce82d6);
	return 0;
}
