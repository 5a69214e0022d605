/* SPDX-License-Identifier: MIT */
/* cuda.c - pns on CUDA's driver: the rewards come back after each launch, the places never. */
#include "../common/cuda.h"
#include "pns.h"

void pns_cuda(struct pb_run *run)
{
	void *simulate = pb_cu_kernel(run, "Simulate");
	adsmDim grid, block = { .x = PNS_THREADS };
	struct pb_array places, vars, maxs;
	struct pns p;

	pns_open(&p, run);
	places = pb_cu_alloc_device(run, p.bytes);
	vars = pb_cu_alloc(run, (size_t)p.per_launch * sizeof(float));
	maxs = pb_cu_alloc(run, (size_t)p.per_launch * sizeof(int));

	for (int base = 0; base < p.n_trajectories; base += p.per_launch) {
		grid = (adsmDim){ .x = pns_launch(&p, base) };
		pb_cu_call(run, simulate, grid, block, &places.device, &vars.device, &maxs.device, &p.n, &p.steps,
			   &base, &p.scale);
		pb_cu_fetch(run, maxs, 0, grid.x * sizeof(int));
		pb_cu_fetch(run, vars, 0, grid.x * sizeof(float));
		pns_collect(&p, base, vars.host, maxs.host);
	}

	pns_write(&p, run);
	pb_stop(run);
	pns_verify(run, &p, (void *)(uintptr_t)places.device, pb_cu_copy_out);

	pb_cu_free(run, places);
	pb_cu_free(run, vars);
	pb_cu_free(run, maxs);
	pns_close(&p);
}
