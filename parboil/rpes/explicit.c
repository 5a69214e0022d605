/* SPDX-License-Identifier: MIT */
/* explicit.c - rpes with explicit copies: two pointers for each array that the CPU sees. Read beside adsm.c. */
#include "rpes.h"

void rpes_explicit(struct pb_run *run)
{
	adsmKernel *integrals = pb_kernel(run, "Integrals");
	adsmKernel *reduce = pb_kernel(run, "Reduce");
	adsmDim grid = { .x = 0 }, block = { .x = RPES_LANES };
	struct final_reduce *final_reduce, *d_final_reduce;
	struct block_work *block_work, *d_block_work;
	float *d_output, *reduction_sum, *d_reduction_sum;
	size_t reduce_bytes, work_bytes, sum_bytes;
	struct rpes r;

	rpes_open(&r, run);
	reduce_bytes = r.n_quartets * sizeof(*final_reduce);
	work_bytes = r.n_blocks * sizeof(*block_work);
	sum_bytes = r.n_quartets * sizeof(*reduction_sum);
	final_reduce = pb_host_alloc(reduce_bytes);
	block_work = pb_host_alloc(work_bytes);
	reduction_sum = pb_host_alloc(sum_bytes);
	d_final_reduce = pb_device_alloc(reduce_bytes);
	d_block_work = pb_device_alloc(work_bytes);
	d_output = pb_device_alloc(r.n_blocks * sizeof(*d_output));
	d_reduction_sum = pb_device_alloc(sum_bytes);

	rpes_fill_reduce(&r, final_reduce);
	rpes_fill_work(&r, block_work);
	pb_check(adsmCopyToDevice(d_final_reduce, final_reduce, reduce_bytes));
	pb_check(adsmCopyToDevice(d_block_work, block_work, work_bytes));

	for (size_t first = 0; first < r.n_blocks; first += grid.x) {
		grid.x = r.n_blocks - first < r.launch ? r.n_blocks - first : r.launch;
		pb_check(adsmCall(integrals, grid, block, adsmConst(r.atoms, r.n_atoms * sizeof(*r.atoms)),
				  adsmConst(r.primitives, r.n_primitives * sizeof(*r.primitives)),
				  adsmPtr(d_block_work), adsmVal((int)first), adsmPtr(d_output)));
		pb_check(adsmSync());
	}
	for (size_t first = 0; first < r.n_quartets; first += grid.x) {
		grid.x = r.n_quartets - first < r.launch ? r.n_quartets - first : r.launch;
		pb_check(adsmCall(reduce, grid, block, adsmPtr(d_final_reduce), adsmPtr(d_output),
				  adsmVal((int)first), adsmPtr(d_reduction_sum)));
		pb_check(adsmSync());
	}
	pb_check(adsmCopyToHost(reduction_sum, d_reduction_sum, sum_bytes));

	rpes_write(run, &r, reduction_sum);
	pb_stop(run);
	rpes_verify(run, reduction_sum);

	pb_free(d_final_reduce);
	pb_free(d_block_work);
	pb_free(d_output);
	pb_free(d_reduction_sum);
	pb_host_free(final_reduce);
	pb_host_free(block_work);
	pb_host_free(reduction_sum);
}
