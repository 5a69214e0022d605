/* SPDX-License-Identifier: MIT */
/* adsm.c - pns with shared memory: one pointer for each array. Read beside explicit.c. */
#include "pns.h"

void pns_adsm(struct pb_run *run)
{
	adsmKernel *simulate = pb_kernel(run, "Simulate");
	adsmDim grid, block = { .x = PNS_THREADS };
	unsigned char *places;
	float *vars;
	int *maxs;
	struct pns p;

	pns_open(&p, run);
	places = pb_shared_alloc(p.bytes);
	vars = pb_shared_alloc(p.per_launch * sizeof(*vars));
	maxs = pb_shared_alloc(p.per_launch * sizeof(*maxs));

	for (int base = 0; base < p.n_trajectories; base += p.per_launch) {
		grid = (adsmDim){ .x = pns_launch(&p, base) };
		pb_check(adsmCall(simulate, grid, block, adsmPtr(places), adsmPtr(vars), adsmPtr(maxs),
				  adsmVal(p.n), adsmVal(p.steps), adsmVal(base), adsmVal(p.scale)));
		pb_check(adsmSync());
		pns_collect(&p, base, vars, maxs);
	}

	pns_write(&p, run);
	pb_stop(run);
	pns_verify(run, &p, places, adsmMemcpy);

	pb_free(places);
	pb_free(vars);
	pb_free(maxs);
	pns_close(&p);
}
