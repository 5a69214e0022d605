/* SPDX-License-Identifier: MIT */
/* waits.c - what the kernels of waits.cu compute. */
#include "cases.h"

static void sum(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1];
	const int n = (int)c->block[0];

	for (int b = 0; b < (int)c->grid[0]; b++) {
		int total = 0;

		for (int k = 5; k < 9; k++) {
			int part = 0;

			for (int t = 0; t < n; t++)
				part += in[b * n + t] >> k;
			total += k == 7 ? -part : part * (k + b);
		}
		for (int t = 0; t < n; t++)
			out[b * n + t] = total + t;
	}
}

static void nested(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1];

	for (int warp = 0; warp < (int)(c->grid[0] * c->block[0] / 32); warp++) {
		const int n = warp % 4;
		int part = 0, total = 0;

		for (int t = 0; t < 32; t++)
			part += in[32 * warp + t] & 0xffff;
		for (int k = 0; k < n; k++)
			total += (part + 32 * k) * (k + 1);
		for (int t = 0; t < 32; t++)
			out[32 * warp + t] = !n ? -1 : n & 1 ? 32 * total : total;
	}
}

static void unset(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0], n = *(const int *)args[2];
	int *out = args[1];

	for (int t = 0; t < (int)c->block[0]; t++) {
		out[t] = 0;
		for (int k = 1; k < n; k++)
			out[t] += (in[k - 1] + t) * k;
	}
}

static void tiles(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1];

	for (int i = 0; i < (int)(c->grid[0] * c->block[0]); i++) {
		out[i] = 3 * (i % 64 + 5 < 64 ? in[i + 5] : in[i]);
		for (int t = i / 64 * 64; t < i / 64 * 64 + 64; t++)
			out[i] += in[t];
	}
}

static void fresh(const struct cuda_case *c, void *const *args, unsigned launch)
{
	int *flags = args[0], *out = args[1];

	flags[0] = flags[3] = flags[4] = flags[5] = flags[6] = 1;
	for (int t = 0; t < (int)c->block[0]; t++)
		out[t] = t;
}

const struct cuda_case waits_cases[] = {
	{ .kernel = "wait_sum", { 3 }, { 64 }, 0, { BUFFER(I32, 192, RANDOM), BUFFER(I32, 192, ZERO) }, sum },
	{ .kernel = "wait_nested", { 3 }, { 96 }, 0, { BUFFER(I32, 288, RANDOM), BUFFER(I32, 288, ZERO) }, nested },
	{ .kernel = "wait_unset", { 1 }, { 40 }, 0,
	  { BUFFER(I32, 100, RANDOM), BUFFER(I32, 40, ZERO), VALUE(int, 100) }, unset },
	{ .kernel = "wait_tiles", { 2 }, { 256 }, 0, { BUFFER(I32, 512, RANDOM), BUFFER(I32, 512, ZERO) }, tiles },
	{ .kernel = "wait_fresh", { 1 }, { 64 }, 0, { BUFFER(I32, 7, ZERO), BUFFER(I32, 64, ZERO) }, fresh },
	{ 0 },
};
