/* SPDX-License-Identifier: MIT */
/* explicit.c - tpacf with explicit copies: two pointers for each array. Read beside adsm.c. */
#include "tpacf.h"

void tpacf_explicit(struct pb_run *run)
{
	adsmKernel *kernel = pb_kernel(run, "Histograms");
	adsmDim grid, block = { .x = TPACF_THREADS };
	size_t n_all, points_bytes, histograms_bytes;
	uint64_t *histograms, *d_histograms;
	float *points, *d_points;
	struct tpacf t;

	tpacf_open(&t, run);
	grid = (adsmDim){ .x = 2 * t.n_sets - 1 };
	n_all = t.n_sets * t.room;
	points_bytes = 3 * n_all * sizeof(*points);
	histograms_bytes = grid.x * TPACF_BINS * sizeof(*histograms);
	points = pb_host_alloc(points_bytes);
	histograms = pb_host_alloc(histograms_bytes);
	d_points = pb_device_alloc(points_bytes);
	d_histograms = pb_device_alloc(histograms_bytes);

	tpacf_fill(points, &t);
	pb_check(adsmCopyToDevice(d_points, points, points_bytes));
	pb_check(adsmCall(kernel, grid, block, adsmPtr(d_points), adsmPtr(d_histograms),
			  adsmConst(t.boundaries, sizeof(t.boundaries)), adsmVal((int)t.n_points),
			  adsmVal((int)t.room), adsmVal((int)t.n_sets - 1)));
	pb_check(adsmSync());
	pb_check(adsmCopyToHost(histograms, d_histograms, histograms_bytes));

	tpacf_write(&t, run, histograms);
	pb_stop(run);
	tpacf_verify(run, &t);

	pb_free(d_points);
	pb_free(d_histograms);
	pb_host_free(points);
	pb_host_free(histograms);
	tpacf_close(&t);
}
