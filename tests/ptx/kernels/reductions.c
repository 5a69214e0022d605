/* SPDX-License-Identifier: MIT */
/* reductions.c - what the kernels of reductions.cu compute. */
#include "cases.h"

static void tree(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const float *in = args[0];
	float *out = args[1];

	for (unsigned b = 0; b < c->grid[0]; b++) {
		double sum = 0;

		for (int t = 0; t < 256; t++)
			sum += *in++;
		out[b] = (float)sum;
	}
}

static void warps(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const unsigned n = *(int *)args[2], threads = c->grid[0] * c->block[0];
	const double *in = args[0];
	double *out = args[1];

	for (unsigned b = 0; b < c->grid[0]; b++) {
		out[b] = 0;
		for (unsigned i = 0; i < n; i++)
			out[b] += i % threads / c->block[0] == b ? in[i] : 0;
	}
}

static void atomics(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *sum = args[1], *least = args[2], *most = args[3];
	uint32_t *bits = args[4];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++) {
		*sum += in[i];
		*least = in[i] < *least ? in[i] : *least;
		*most = in[i] > *most ? in[i] : *most;
		bits[0] &= (uint32_t)in[i] | 0xff;
		bits[1] |= (uint32_t)in[i] & 0xffff;
		bits[2] ^= (uint32_t)in[i];
	}
}

static void place(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const uint32_t *in = args[0];
	uint64_t *best = args[1];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++)
		if (((uint64_t)in[i] << 32 | i) > *best)
			*best = (uint64_t)in[i] << 32 | i;
}

static void redux(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1];

	for (unsigned warp = 0; warp < c->grid[0] * c->block[0] / 32; warp++, in += 32) {
		int sum = 0, least = in[0];
		uint32_t any = 0, odd = 0;

		for (int lane = 0; lane < 32; lane++) {
			sum += in[lane];
			least = in[lane] < least ? in[lane] : least;
			any |= (uint32_t)in[lane] & 0xff00;
			odd ^= (uint32_t)in[lane];
		}
		for (int lane = 0; lane < 32; lane++)
			*out++ = sum ^ least ^ (int)any ^ (int)(odd >> 1);
	}
}

static void last_block(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *sums = args[1], *total = args[3];

	*total = 0;
	for (unsigned b = 0; b < c->grid[0]; b++) {
		sums[b] = 0;
		for (int t = 0; t < 64; t++)
			sums[b] += *in++;
		*total += sums[b];
	}
}

const struct cuda_case reductions_cases[] = {
	{ .kernel = "reduce_tree", { 5 }, { 256 }, 0, { BUFFER(F32, 1280, RANDOM), BUFFER(F32, 5, ZERO) }, tree,
	  1e-5 },
	{ .kernel = "reduce_warps", { 3 }, { 96 }, 0, { BUFFER(F64, 1000, RANDOM), BUFFER(F64, 3, ZERO), VALUE(int,
	  1000) }, warps, 1e-13 },
	{ .kernel = "reduce_atomics", { 7 }, { 60 }, 0, { BUFFER(I32, 420, RANDOM), BUFFER(I32, 1, ZERO), BUFFER(I32,
	  1, RANDOM), BUFFER(I32, 1, RANDOM), BUFFER(I32, 3, RANDOM) }, atomics },
	{ .kernel = "reduce_place", { 8 }, { 64 }, 0, { BUFFER(I32, 512, RANDOM), BUFFER(I64, 1, ZERO) }, place },
	{ .kernel = "reduce_redux", { 2 }, { 96 }, 0, { BUFFER(I32, 192, RANDOM), BUFFER(I32, 192, ZERO) }, redux },
	/* The second launch finds the count of blocks at 0 again. */
	{ .kernel = "reduce_last_block", { 10 }, { 64 }, 0, { BUFFER(I32, 640, RANDOM), BUFFER(I32, 10, ZERO),
	  BUFFER(I32, 1, ZERO), BUFFER(I32, 1, ZERO) }, last_block, .launches = 2 },
	{ 0 },
};
