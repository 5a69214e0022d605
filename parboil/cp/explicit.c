/* SPDX-License-Identifier: MIT */
/* explicit.c - cp with explicit copies: two pointers for the plane. Read beside adsm.c. */
#include "cp.h"

void cp_explicit(struct pb_run *run)
{
	adsmKernel *cenergy = pb_kernel(run, "cenergy");
	adsmDim grid, block = { .x = CP_THREADS_X, .y = CP_THREADS_Y };
	float *energy;
	float *d_energy;
	size_t bytes;
	double checksum;
	struct cp cp;
	FILE *out;

	cp_open(&cp, run);
	bytes = cp.n * cp.n * sizeof(float);
	energy = pb_host_alloc(bytes);
	d_energy = pb_device_alloc(bytes);

	pb_check(adsmDeviceFill(d_energy, 0, bytes));
	grid = (adsmDim){ .x = cp.n / (block.x * CP_POINTS), .y = cp.n / block.y };
	for (size_t a = 0; a < cp.n_atoms; a += cp.chunk) {
		size_t n = cp.n_atoms - a < cp.chunk ? cp.n_atoms - a : cp.chunk;

		cp_pack(&cp, a, n);
		pb_check(adsmCall(cenergy, grid, block, adsmConst(cp.table, n * sizeof(*cp.table)),
				  adsmVal((int)n), adsmVal(CP_SPACING), adsmPtr(d_energy)));
		pb_check(adsmSync());
	}
	pb_check(adsmCopyToHost(energy, d_energy, bytes));

	checksum = cp_checksum(energy, cp.n);
	out = pb_open(run->output, "w");
	cp_write(run, out, energy, &cp, checksum);
	pb_close(out, run->output);
	pb_stop(run);
	cp_verify(run, energy, checksum);

	pb_free(d_energy);
	pb_host_free(energy);
	cp_close(&cp);
}
