/* SPDX-License-Identifier: MIT */
/* cuda.c - cp on CUDA's driver: the atoms of a call are packed while the call before runs. */
#include "../common/cuda.h"
#include "cp.h"

#include <string.h>

void cp_cuda(struct pb_run *run)
{
	void *cenergy = pb_cu_kernel(run, "cenergy");
	adsmDim grid, block = { .x = CP_THREADS_X, .y = CP_THREADS_Y };
	struct pb_array energy, table;
	float spacing = CP_SPACING;
	double checksum;
	struct cp cp;
	FILE *out;

	cp_open(&cp, run);
	energy = pb_cu_alloc(run, cp.n * cp.n * sizeof(float));
	table = pb_cu_alloc(run, cp.n_atoms * sizeof(*cp.table));

	pb_cu_zero(run, energy);
	grid = (adsmDim){ .x = cp.n / (block.x * CP_POINTS), .y = cp.n / block.y };
	for (size_t a = 0; a < cp.n_atoms; a += cp.chunk) {
		int n = (int)(cp.n_atoms - a < cp.chunk ? cp.n_atoms - a : cp.chunk);
		size_t offset = a * sizeof(*cp.table), bytes = (size_t)n * sizeof(*cp.table);
		uint64_t atoms = table.device + offset;

		cp_pack(&cp, a, (size_t)n);
		memcpy((char *)table.host + offset, cp.table, bytes);
		pb_cu_send(run, table, offset, bytes);
		pb_cu_call(run, cenergy, grid, block, &atoms, &n, &spacing, &energy.device);
	}
	pb_cu_fetch(run, energy, 0, energy.size);

	checksum = cp_checksum(energy.host, cp.n);
	out = pb_open(run->output, "w");
	cp_write(run, out, energy.host, &cp, checksum);
	pb_close(out, run->output);
	pb_stop(run);
	cp_verify(run, energy.host, checksum);

	pb_cu_free(run, energy);
	pb_cu_free(run, table);
	cp_close(&cp);
}
