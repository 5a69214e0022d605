/* SPDX-License-Identifier: MIT */
/* cuda_c.c - cp with shared memory and its kernel in CUDA C: as adsm.c, but the atoms are a variable of the module. */
#include "cp.h"

#include <string.h>

void cp_cuda_c(struct pb_run *run)
{
	adsmKernel *cenergy = pb_kernel(run, "cenergy");
	adsmDim grid, block = { .x = CP_THREADS_X, .y = CP_THREADS_Y };
	float *energy;
	size_t bytes;
	double checksum;
	struct cp cp;
	FILE *out;

	cp_open(&cp, run);
	bytes = cp.n * cp.n * sizeof(float);
	energy = pb_shared_alloc(bytes);

	memset(energy, 0, bytes);
	grid = (adsmDim){ .x = cp.n / (block.x * CP_POINTS), .y = cp.n / block.y };
	for (size_t a = 0; a < cp.n_atoms; a += cp.chunk) {
		size_t n = cp.n_atoms - a < cp.chunk ? cp.n_atoms - a : cp.chunk;

		cp_pack(&cp, a, n);
		pb_set_variable(run, "atoms", CP_MAX_ATOMS * sizeof(*cp.table), cp.table, n * sizeof(*cp.table));
		pb_check(adsmCall(cenergy, grid, block, adsmVal((int)n), adsmVal(CP_SPACING), adsmPtr(energy)));
		pb_check(adsmSync());
	}

	checksum = cp_checksum(energy, cp.n);
	out = pb_open(run->output, "w");
	cp_write(run, out, energy, &cp, checksum);
	pb_close(out, run->output);
	pb_stop(run);
	cp_verify(run, energy, checksum);

	pb_free(energy);
	cp_close(&cp);
}
