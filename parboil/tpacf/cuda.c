/* SPDX-License-Identifier: MIT */
/* cuda.c - tpacf on CUDA's driver. */
#include "../common/cuda.h"
#include "tpacf.h"

#include <string.h>

void tpacf_cuda(struct pb_run *run)
{
	void *kernel = pb_cu_kernel(run, "Histograms");
	struct pb_array points, histograms, boundaries;
	adsmDim grid, block = { .x = TPACF_THREADS };
	int n_points, room, n_random;
	struct tpacf t;
	size_t n_all;

	tpacf_open(&t, run);
	grid = (adsmDim){ .x = 2 * t.n_sets - 1 };
	n_all = t.n_sets * t.room;
	points = pb_cu_alloc(run, 3 * n_all * sizeof(float));
	histograms = pb_cu_alloc(run, grid.x * TPACF_BINS * sizeof(uint64_t));
	boundaries = pb_cu_alloc(run, sizeof(t.boundaries));

	memcpy(boundaries.host, t.boundaries, sizeof(t.boundaries));
	pb_cu_send(run, boundaries, 0, sizeof(t.boundaries));
	tpacf_fill(points.host, &t);
	pb_cu_send(run, points, 0, points.size);
	n_points = (int)t.n_points;
	room = (int)t.room;
	n_random = (int)t.n_sets - 1;
	pb_cu_call(run, kernel, grid, block, &points.device, &histograms.device, &boundaries.device, &n_points,
		   &room, &n_random);
	pb_cu_fetch(run, histograms, 0, histograms.size);

	tpacf_write(&t, run, histograms.host);
	pb_stop(run);
	tpacf_verify(run, &t);

	pb_cu_free(run, points);
	pb_cu_free(run, histograms);
	pb_cu_free(run, boundaries);
	tpacf_close(&t);
}
