/* SPDX-License-Identifier: MIT */
/* histograms.c - what the kernels of histograms.cu compute. */
#include "cases.h"

static void shared(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const uint8_t *in = args[0];
	uint32_t *counts = args[1];

	for (int i = 0; i < *(int *)args[2]; i++)
		counts[in[i]]++;
}

static void global(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const uint32_t *in = args[0];
	uint32_t *counts = args[1];

	for (int i = 0; i < *(int *)args[2]; i++)
		counts[in[i] % 37]++;
}

static void match(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	uint32_t *counts = args[1];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++)
		counts[in[i] & 7]++;
}

static void sums(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	float *floats = args[1];
	double *doubles = args[2];
	uint64_t *words = args[3];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++) {
		const int slot = in[i] & 3;
		const uint64_t word = (uint64_t)(uint32_t)in[i];

		floats[slot] += (float)(in[i] >> 8 & 63);
		doubles[slot] += (double)(in[i] >> 9 & 1023) / 4;
		words[slot] += word;
		words[4 + slot] = word << 20 > words[4 + slot] ? word << 20 : words[4 + slot];
	}
}

const struct cuda_case histograms_cases[] = {
	{ .kernel = "histogram_shared", { 3 }, { 100 }, 0, { BUFFER(U8, 5000, RANDOM), BUFFER(I32, 256, RANDOM),
	  VALUE(int, 4999) }, shared },
	{ .kernel = "histogram_global", { 5 }, { 100 }, 0, { BUFFER(I32, 490, RANDOM), BUFFER(I32, 37, ZERO),
	  VALUE(int, 490) }, global },
	{ .kernel = "histogram_match", { 4 }, { 64 }, 0, { BUFFER(I32, 256, RANDOM), BUFFER(I32, 8, ZERO) }, match },
	{ .kernel = "histogram_sums", { 4 }, { 50 }, 0, { BUFFER(I32, 200, RANDOM), BUFFER(F32, 4, ZERO), BUFFER(F64,
	  4, ZERO), BUFFER(I64, 8, ZERO) }, sums },
	{ 0 },
};
