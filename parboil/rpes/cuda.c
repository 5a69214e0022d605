/* SPDX-License-Identifier: MIT */
/* cuda.c - rpes on CUDA's driver: one array is sent while the next is filled, and no call waits for the one before. */
#include "../common/cuda.h"
#include "rpes.h"

#include <string.h>

/* Memory of the program's, on the device. */
static struct pb_array copy_of(struct pb_run *run, const void *data, size_t size)
{
	struct pb_array array = pb_cu_alloc(run, size);

	memcpy(array.host, data, size);
	pb_cu_send(run, array, 0, size);
	return array;
}

void rpes_cuda(struct pb_run *run)
{
	void *integrals = pb_cu_kernel(run, "Integrals"), *reduce = pb_cu_kernel(run, "Reduce");
	adsmDim grid = { .x = 0 }, block = { .x = RPES_LANES };
	struct pb_array atoms, primitives, final_reduce, block_work, output, reduction_sum;
	struct rpes r;

	rpes_open(&r, run);
	final_reduce = pb_cu_alloc(run, r.n_quartets * sizeof(struct final_reduce));
	block_work = pb_cu_alloc(run, r.n_blocks * sizeof(struct block_work));
	output = pb_cu_alloc_device(run, r.n_blocks * sizeof(float));
	reduction_sum = pb_cu_alloc(run, r.n_quartets * sizeof(float));

	atoms = copy_of(run, r.atoms, r.n_atoms * sizeof(*r.atoms));
	primitives = copy_of(run, r.primitives, r.n_primitives * sizeof(*r.primitives));
	rpes_fill_reduce(&r, final_reduce.host);
	pb_cu_send(run, final_reduce, 0, final_reduce.size);
	rpes_fill_work(&r, block_work.host);
	pb_cu_send(run, block_work, 0, block_work.size);

	for (size_t first = 0; first < r.n_blocks; first += grid.x) {
		int number = (int)first;

		grid.x = r.n_blocks - first < r.launch ? r.n_blocks - first : r.launch;
		pb_cu_call(run, integrals, grid, block, &atoms.device, &primitives.device, &block_work.device, &number,
			   &output.device);
	}
	for (size_t first = 0; first < r.n_quartets; first += grid.x) {
		int number = (int)first;

		grid.x = r.n_quartets - first < r.launch ? r.n_quartets - first : r.launch;
		pb_cu_call(run, reduce, grid, block, &final_reduce.device, &output.device, &number,
			   &reduction_sum.device);
	}
	pb_cu_fetch(run, reduction_sum, 0, reduction_sum.size);

	rpes_write(run, &r, reduction_sum.host);
	pb_stop(run);
	rpes_verify(run, reduction_sum.host);

	pb_cu_free(run, atoms);
	pb_cu_free(run, primitives);
	pb_cu_free(run, final_reduce);
	pb_cu_free(run, block_work);
	pb_cu_free(run, output);
	pb_cu_free(run, reduction_sum);
}
