/* SPDX-License-Identifier: MIT */
/* adsm.c - rpes with shared memory: one pointer for each array. Read beside explicit.c. */
#include "rpes.h"

void rpes_adsm(struct pb_run *run)
{
	adsmKernel *integrals = pb_kernel(run, "Integrals");
	adsmKernel *reduce = pb_kernel(run, "Reduce");
	adsmDim grid = { .x = 0 }, block = { .x = RPES_LANES };
	struct final_reduce *final_reduce;
	struct block_work *block_work;
	float *output, *reduction_sum;
	struct rpes r;

	rpes_open(&r, run);
	final_reduce = pb_shared_alloc(r.n_quartets * sizeof(*final_reduce));
	block_work = pb_shared_alloc(r.n_blocks * sizeof(*block_work));
	output = pb_shared_alloc(r.n_blocks * sizeof(*output));
	reduction_sum = pb_shared_alloc(r.n_quartets * sizeof(*reduction_sum));

	rpes_fill_reduce(&r, final_reduce);
	rpes_fill_work(&r, block_work);

	for (size_t first = 0; first < r.n_blocks; first += grid.x) {
		grid.x = r.n_blocks - first < r.launch ? r.n_blocks - first : r.launch;
		pb_check(adsmCall(integrals, grid, block, adsmConst(r.atoms, r.n_atoms * sizeof(*r.atoms)),
				  adsmConst(r.primitives, r.n_primitives * sizeof(*r.primitives)),
				  adsmPtr(block_work), adsmVal((int)first), adsmPtr(output)));
		pb_check(adsmSync());
	}
	for (size_t first = 0; first < r.n_quartets; first += grid.x) {
		grid.x = r.n_quartets - first < r.launch ? r.n_quartets - first : r.launch;
		pb_check(adsmCall(reduce, grid, block, adsmPtr(final_reduce), adsmPtr(output),
				  adsmVal((int)first), adsmPtr(reduction_sum)));
		pb_check(adsmSync());
	}

	rpes_write(run, &r, reduction_sum);
	pb_stop(run);
	rpes_verify(run, reduction_sum);

	pb_free(final_reduce);
	pb_free(block_work);
	pb_free(output);
	pb_free(reduction_sum);
}
