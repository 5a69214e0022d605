/* SPDX-License-Identifier: MIT */
/* explicit.c - pns with explicit copies: two pointers for each array that the CPU reads. Read beside adsm.c. */
#include "pns.h"

void pns_explicit(struct pb_run *run)
{
	adsmKernel *simulate = pb_kernel(run, "Simulate");
	adsmDim grid, block = { .x = PNS_THREADS };
	unsigned char *d_places;
	float *vars, *d_vars;
	int *maxs, *d_maxs;
	struct pns p;

	pns_open(&p, run);
	vars = pb_host_alloc(p.per_launch * sizeof(*vars));
	maxs = pb_host_alloc(p.per_launch * sizeof(*maxs));
	d_places = pb_device_alloc(p.bytes);
	d_vars = pb_device_alloc(p.per_launch * sizeof(*vars));
	d_maxs = pb_device_alloc(p.per_launch * sizeof(*maxs));

	for (int base = 0; base < p.n_trajectories; base += p.per_launch) {
		grid = (adsmDim){ .x = pns_launch(&p, base) };
		pb_check(adsmCall(simulate, grid, block, adsmPtr(d_places), adsmPtr(d_vars), adsmPtr(d_maxs),
				  adsmVal(p.n), adsmVal(p.steps), adsmVal(base), adsmVal(p.scale)));
		pb_check(adsmSync());
		pb_check(adsmCopyToHost(maxs, d_maxs, grid.x * sizeof(*maxs)));
		pb_check(adsmCopyToHost(vars, d_vars, grid.x * sizeof(*vars)));
		pns_collect(&p, base, vars, maxs);
	}

	pns_write(&p, run);
	pb_stop(run);
	pns_verify(run, &p, d_places, adsmCopyToHost);

	pb_free(d_places);
	pb_free(d_vars);
	pb_free(d_maxs);
	pb_host_free(vars);
	pb_host_free(maxs);
	pns_close(&p);
}
