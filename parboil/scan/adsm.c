/* SPDX-License-Identifier: MIT */
/* adsm.c - scan with shared memory: one pointer for each array. Read beside explicit.c. */
#include "scan.h"

void scan_adsm(struct pb_run *run)
{
	const struct scan_size *size = &scan_sizes[run->size];
	adsmKernel *scan = pb_kernel(run, "Scan");
	adsmKernel *add_sums = pb_kernel(run, "AddSums");
	adsmDim grid = { .x = SCAN_SEGMENTS }, block = { .x = SCAN_THREADS }, one = { .x = 1 };
	uint32_t *in, *out, *sums = NULL;
	uint64_t sum;

	in = pb_shared_alloc(SCAN_N * sizeof(*in));
	out = pb_shared_alloc(SCAN_N * sizeof(*out));
	if (size->full)
		sums = pb_shared_alloc(SCAN_SEGMENTS * sizeof(*sums));

	scan_fill(in);
	for (int i = 0; i < size->n_calls; i++) {
		size_t first = size->thin ? i % SCAN_SEGMENTS * SCAN_SEGMENT : 0;

		pb_check(adsmCall(scan, size->thin ? one : grid, block, adsmPtr(in + first),
				  adsmPtr(out + first), adsmPtr(sums), adsmVal(SCAN_N),
				  adsmVal(scan_factor(size, i))));
		pb_check(adsmSync());
	}
	if (size->full) {
		pb_check(adsmCall(scan, one, block, adsmPtr(sums), adsmPtr(sums), adsmPtr(NULL),
				  adsmVal((int)SCAN_SEGMENTS), adsmVal(1u)));
		pb_check(adsmSync());
		pb_check(adsmCall(add_sums, grid, block, adsmPtr(out), adsmPtr(sums), adsmVal(SCAN_N)));
		pb_check(adsmSync());
	}

	sum = scan_sum(out);
	pb_stop(run);
	scan_verify(run, out, sum);

	pb_free(in);
	pb_free(out);
	pb_free(sums);
}
