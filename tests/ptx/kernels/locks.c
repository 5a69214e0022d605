/* SPDX-License-Identifier: MIT */
/* locks.c - what the kernels of locks.cu compute. */
#include "cases.h"

static void blocks(const struct cuda_case *c, void *const *args, unsigned launch)
{
	int *data = args[1];
	const int *in = args[2];

	for (unsigned i = 0; i < c->grid[0] * 64; i++)
		data[0] += in[i];
	data[1] += (int)c->grid[0];
}

static void lanes(const struct cuda_case *c, void *const *args, unsigned launch)
{
	int *data = args[1];
	const int *in = args[2];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++) {
		data[2 * ((in[i] & 0x7fffffff) % 5)] += in[i];
		data[2 * ((in[i] & 0x7fffffff) % 5) + 1]++;
	}
}

static void wait(const struct cuda_case *c, void *const *args, unsigned launch)
{
	*(int *)args[1] += (int)(c->grid[0] * c->block[0]);
}

static void tickets(const struct cuda_case *c, void *const *args, unsigned launch)
{
	uint32_t *taken = args[0], *order = args[1];

	for (unsigned b = 0; b < c->grid[0]; b++)
		*order = *order * 3 + b;
	taken[0] = taken[1] = c->grid[0];
}

static void chain(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1], *flags = args[2], *sums = args[3], sum = 0;

	for (unsigned b = 0; b < c->grid[0]; b++) {
		for (int t = 0; t < 32; t++)
			*out++ = sum += *in++ & 1023;
		flags[b] = 1;
		sums[b] = sum;
	}
}

const struct cuda_case locks_cases[] = {
	{ .kernel = "lock_blocks", { 20 }, { 64 }, 0, { BUFFER(I32, 1, ZERO), BUFFER(I32, 2, ZERO), BUFFER(I32, 1280,
	  RANDOM) }, blocks },
	{ .kernel = "lock_lanes", { 3 }, { 64 }, 0, { BUFFER(I32, 5, ZERO), BUFFER(I32, 10, ZERO), BUFFER(I32, 192,
	  RANDOM) }, lanes },
	{ .kernel = "lock_wait", { 2 }, { 40 }, 0, { BUFFER(I32, 1, ZERO), BUFFER(I32, 1, ZERO) }, wait },
	{ .kernel = "lock_tickets", { 15 }, { 32 }, 0, { BUFFER(I32, 2, ZERO), BUFFER(I32, 1, ZERO) }, tickets },
	{ .kernel = "lock_chain", { 30 }, { 32 }, 0, { BUFFER(I32, 960, RANDOM), BUFFER(I32, 960, ZERO), BUFFER(I32,
	  30, ZERO), BUFFER(I32, 30, ZERO) }, chain },
	{ 0 },
};
