/* SPDX-License-Identifier: MIT */
/* barriers.c - what the kernels of barriers.cu compute. */
#include "cases.h"

#include <stdbool.h>
#include <string.h>

static void loop(const struct cuda_case *c, void *const *args, unsigned launch)
{
	int *data = args[0], next[128];

	for (unsigned b = 0; b < c->grid[0]; b++, data += 128)
		for (int round = 0; round < *(int *)args[1]; round++) {
			for (int t = 0; t < 128; t++)
				next[t] = data[(t + 1) % 128] * 3 + round + t;
			for (int t = 0; t < 128; t++)
				data[t] = next[t];
		}
}

static void uneven(const struct cuda_case *c, void *const *args, unsigned launch)
{
	int *sums = args[0], shared[96];

	for (unsigned b = 0; b < c->grid[0]; b++, sums += 96)
		for (unsigned round = 0; round < b % 5; round++) {
			for (int t = 0; t < 96; t++) {
				for (int k = 0; k < t % 7; k++)
					sums[t] = sums[t] * 5 + k;
				shared[t] = sums[t];
			}
			for (int t = 0; t < 96; t++)
				sums[t] += t % 3 == 0 ? shared[95 - t] : t % 3 == 1 ? -shared[t * 7 % 96] : 0;
		}
}

static void branch(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1];

	for (unsigned b = 0; b < c->grid[0]; b++, in += 64, out += 64)
		for (int t = 0; t < 64; t++)
			out[t] = b & 1 ? in[63 - t] : in[(t + 1) % 64] + in[t];
}

static void two_places(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1];

	for (unsigned b = 0; b < c->grid[0]; b++, in += 64, out += 64)
		for (int t = 0; t < 64; t++)
			out[t] = t < 32 ? in[t + 32] + 7 : in[t - 32] * 2;
}

static void votes(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const unsigned n = c->block[0];
	const int *in = args[0];
	int *out = args[1];

	for (unsigned b = 0; b < c->grid[0]; b++, in += n, out += n) {
		int count = 0, all = 1, any = 0;

		for (unsigned t = 0; t < n; t++) {
			count += in[t] & 1;
			all &= (in[t] & 255) != 255;
			any |= (in[t] & 511) == 511;
		}
		for (unsigned t = 0; t < n; t++)
			out[t] = count * 4 + all * 2 + any;
	}
}

static void part(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1];

	for (unsigned b = 0; b < c->grid[0]; b++, in += 128, out += 128)
		for (int t = 0; t < 128; t++)
			out[t] = t < 64 ? in[t ^ 63] : in[t] + 1;
}

/* The second warp may have fewer lanes. */
static void arrive(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int rounds = *(int *)args[2], *in = args[0];
	int *out = args[1];

	for (unsigned b = 0; b < c->grid[0]; b++)
		for (int round = 0; round < rounds; round++, in += 32, out += 32)
			for (int t = 0; t < (int)c->block[0] - 32; t++)
				out[t] = in[31 - t] * 3 + round;
}

static void short_warps(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1];

	for (unsigned b = 0; b < c->grid[0]; b++, in += 72, out += 72)
		for (int t = 0; t < 72; t++)
			if (t < 40 || t >= 50)
				out[t] = in[71 - t];
}

static void many(const int *in, int *out, bool warps)
{
	int x[64], shared[64], old[64];

	memcpy(x, in, sizeof(x));
	memcpy(shared, in, sizeof(shared));
	for (int i = 64; i < 114; i++) {
		memcpy(old, shared, sizeof(old));
		for (int t = 0; t < 64 && in[i] & 1; t++)
			if (t != 7)
				shared[t] = x[t] += old[(t + 1) % 64];
		memcpy(old, x, sizeof(old));
		for (int t = 0; t < 64; t++) {
			if (warps)
				x[t] += in[i] & 2 ? old[(t & 32) + 3] : i;
			x[t] = x[t] * 3 + i;
		}
	}
	for (int t = 0; t < 64; t++)
		out[t] = t == 7 ? out[t] : x[t];
}

static void many_plain(const struct cuda_case *c, void *const *args, unsigned launch)
{
	many(args[0], args[1], false);
}

static void many_warps(const struct cuda_case *c, void *const *args, unsigned launch)
{
	many(args[0], args[1], true);
}

const struct cuda_case barriers_cases[] = {
	{ .kernel = "barrier_loop", { 3 }, { 128 }, 0, { BUFFER(I32, 384, RANDOM), VALUE(int, 7) }, loop },
	{ .kernel = "barrier_uneven", { 11 }, { 96 }, 0, { BUFFER(I32, 1056, RANDOM) }, uneven },
	{ .kernel = "barrier_branch", { 6 }, { 64 }, 0, { BUFFER(I32, 384, RANDOM), BUFFER(I32, 384, ZERO) },
	  branch },
	{ .kernel = "barrier_two_places", { 2 }, { 64 }, 0, { BUFFER(I32, 128, RANDOM), BUFFER(I32, 128, ZERO) },
	  two_places },
	{ .kernel = "barrier_votes", { 9 }, { 50 }, 0, { BUFFER(I32, 450, RANDOM), BUFFER(I32, 450, ZERO) }, votes },
	{ .kernel = "barrier_part", { 4 }, { 128 }, 0, { BUFFER(I32, 512, RANDOM), BUFFER(I32, 512, ZERO) }, part },
	{ .kernel = "barrier_arrive", { 3 }, { 64 }, 0, { BUFFER(I32, 480, RANDOM), BUFFER(I32, 480, ZERO),
	  VALUE(int, 5) }, arrive },
	{ .kernel = "barrier_arrive", { 2 }, { 50 }, 0, { BUFFER(I32, 128, RANDOM), BUFFER(I32, 128, ZERO),
	  VALUE(int, 2) }, arrive },
	{ .kernel = "barrier_short_warps", { 3 }, { 72 }, 0, { BUFFER(I32, 216, RANDOM), BUFFER(I32, 216, ZERO) },
	  short_warps },
	{ .kernel = "barrier_many", { 1 }, { 64 }, 0, { BUFFER(I32, 114, RANDOM), BUFFER(I32, 64, ZERO) }, many_plain },
	{ .kernel = "barrier_many_warps", { 1 }, { 64 }, 0, { BUFFER(I32, 114, RANDOM), BUFFER(I32, 64, ZERO) },
	  many_warps },
	{ 0 },
};
