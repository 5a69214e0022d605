/* SPDX-License-Identifier: MIT */
/* explicit.c - scan with explicit copies: two pointers for each array. Read beside adsm.c. */
#include "scan.h"

void scan_explicit(struct pb_run *run)
{
	const struct scan_size *size = &scan_sizes[run->size];
	adsmKernel *scan = pb_kernel(run, "Scan");
	adsmKernel *add_sums = pb_kernel(run, "AddSums");
	adsmDim grid = { .x = SCAN_SEGMENTS }, block = { .x = SCAN_THREADS }, one = { .x = 1 };
	uint32_t *in, *out, *d_in, *d_out, *d_sums = NULL;
	uint64_t sum;

	in = pb_host_alloc(SCAN_N * sizeof(*in));
	out = pb_host_alloc(SCAN_N * sizeof(*out));
	d_in = pb_device_alloc(SCAN_N * sizeof(*in));
	d_out = pb_device_alloc(SCAN_N * sizeof(*out));
	if (size->full)
		d_sums = pb_device_alloc(SCAN_SEGMENTS * sizeof(*d_sums));

	scan_fill(in);
	pb_check(adsmCopyToDevice(d_in, in, SCAN_N * sizeof(*in)));
	for (int i = 0; i < size->n_calls; i++) {
		size_t first = size->thin ? i % SCAN_SEGMENTS * SCAN_SEGMENT : 0;

		pb_check(adsmCall(scan, size->thin ? one : grid, block, adsmPtr(d_in + first),
				  adsmPtr(d_out + first), adsmPtr(d_sums), adsmVal(SCAN_N),
				  adsmVal(scan_factor(size, i))));
		pb_check(adsmSync());
	}
	if (size->full) {
		pb_check(adsmCall(scan, one, block, adsmPtr(d_sums), adsmPtr(d_sums), adsmPtr(NULL),
				  adsmVal((int)SCAN_SEGMENTS), adsmVal(1u)));
		pb_check(adsmSync());
		pb_check(adsmCall(add_sums, grid, block, adsmPtr(d_out), adsmPtr(d_sums), adsmVal(SCAN_N)));
		pb_check(adsmSync());
	}
	pb_check(adsmCopyToHost(out, d_out, SCAN_N * sizeof(*out)));

	sum = scan_sum(out);
	pb_stop(run);
	scan_verify(run, out, sum);

	pb_free(d_in);
	pb_free(d_out);
	pb_free(d_sums);
	pb_host_free(in);
	pb_host_free(out);
}
