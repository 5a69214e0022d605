/* SPDX-License-Identifier: MIT */
/* scans.c - what the kernels of scans.cu compute. */
#include "cases.h"

static void inclusive(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1];

	for (unsigned b = 0; b < c->grid[0]; b++) {
		int sum = 0;

		for (int t = 0; t < 256; t++)
			*out++ = sum += *in++;
	}
}

static void exclusive(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1];

	for (unsigned b = 0; b < c->grid[0]; b++) {
		int sum = 0;

		for (unsigned t = 0; t < 2 * c->block[0]; t++) {
			*out++ = sum;
			sum += *in++;
		}
	}
}

static void compact(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1], *counts = args[2];

	for (unsigned b = 0; b < c->grid[0]; b++, in += 128, out += 128)
		for (int t = 0; t < 128; t++)
			if (in[t] % 3 == 0)
				out[counts[b]++] = in[t];
}

const struct cuda_case scans_cases[] = {
	{ .kernel = "scan_steps", { 3 }, { 256 }, 0, { BUFFER(I32, 768, RANDOM), BUFFER(I32, 768, ZERO) },
	  inclusive },
	{ .kernel = "scan_tree", { 3 }, { 64 }, 512, { BUFFER(I32, 384, RANDOM), BUFFER(I32, 384, ZERO) },
	  exclusive },
	{ .kernel = "scan_warps", { 3 }, { 256 }, 0, { BUFFER(I32, 768, RANDOM), BUFFER(I32, 768, ZERO) },
	  inclusive },
	{ .kernel = "scan_compact", { 5 }, { 128 }, 0, { BUFFER(I32, 640, RANDOM), BUFFER(I32, 640, ZERO), BUFFER(I32,
	  5, ZERO) }, compact },
	{ 0 },
};
