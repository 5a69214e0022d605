/* SPDX-License-Identifier: MIT */
/* cuda_c.c - tpacf with shared memory and its kernel in CUDA C: the boundaries are a variable. */
#include "tpacf.h"

void tpacf_cuda_c(struct pb_run *run)
{
	adsmKernel *kernel = pb_kernel(run, "Histograms");
	adsmDim grid, block = { .x = TPACF_THREADS };
	size_t n_all, points_bytes, histograms_bytes;
	uint64_t *histograms;
	float *points;
	struct tpacf t;

	tpacf_open(&t, run);
	grid = (adsmDim){ .x = 2 * t.n_sets - 1 };
	n_all = t.n_sets * t.room;
	points_bytes = 3 * n_all * sizeof(*points);
	histograms_bytes = grid.x * TPACF_BINS * sizeof(*histograms);
	points = pb_shared_alloc(points_bytes);
	histograms = pb_shared_alloc(histograms_bytes);

	tpacf_fill(points, &t);
	pb_set_variable(run, "boundaries", sizeof(t.boundaries), t.boundaries, sizeof(t.boundaries));
	pb_check(adsmCall(kernel, grid, block, adsmPtr(points), adsmPtr(histograms), adsmVal((int)t.n_points),
			  adsmVal((int)t.room), adsmVal((int)t.n_sets - 1)));
	pb_check(adsmSync());

	tpacf_write(&t, run, histograms);
	pb_stop(run);
	tpacf_verify(run, &t);

	pb_free(points);
	pb_free(histograms);
	tpacf_close(&t);
}
