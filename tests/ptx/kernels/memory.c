/* SPDX-License-Identifier: MIT */
/* memory.c - what the kernels of memory.cu compute. */
#include "cases.h"

#include <string.h>

static void constant(const struct cuda_case *c, void *const *args, unsigned launch)
{
	static const int primes[8] = { 2, 3, 5, 7, 11, 13, 17, 19 };
	const int *in = args[0];
	int *out = args[1];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++)
		out[i] = in[i] * primes[in[i] & 7] + 7;
}

static void variable(const struct cuda_case *c, void *const *args, unsigned launch)
{
	static const int table[4][3] = { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } };
	int *out = args[0];

	for (unsigned t = 0; t < c->block[0]; t++)
		out[t] = 5 + 2 * (int)launch + table[t % 4][t % 3] + "constant text"[t % 13] + 8;
}

static void local(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1];

	for (int i = 0; i < (int)(c->grid[0] * c->block[0]); i++) {
		int stack[16], n = 0;

		for (int k = 0; k < 16; k++)
			stack[k] = k * i;
		for (int k = 0; k < 24; k++) {
			const int command = in[i] >> k & 7;

			if (command & 1)
				stack[(command + k) & 15] += stack[n];
			else
				n = (n + command + stack[k & 15]) & 15;
		}
		out[i] = stack[n] * 31 + stack[(n + 5) & 15];
	}
}

struct parameters {
	char kind;
	short scale;
	int offsets[3];
	double factor;
};

static void structure(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const struct parameters *p = args[0];
	const int *in = args[1], *v = args[3];
	int *out = args[2];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++)
		out[i] = p->kind + p->scale * in[i] + p->offsets[i % 3] + (int)(p->factor * 4) + v[0] -
			 v[3] * *(const char *)args[4];
}

static void vectors(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const float *in = args[0];
	float *out = args[1];
	uint8_t *bytes = args[2];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++, in += 4, out += 4, bytes += 4) {
		uint32_t bits;

		out[0] = in[3];
		out[1] = in[2] * 2;
		out[2] = in[1] - in[0];
		out[3] = in[0];
		memcpy(&bits, in, sizeof(bits));
		bytes[0] = (uint8_t)(bits >> 24);
		bytes[1] = (uint8_t)(bits >> 16);
		bytes[2] = (uint8_t)(bits >> 8);
		bytes[3] = (uint8_t)(bits >> 4);
	}
}

static void bytes(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const uint8_t *in = args[0];
	int16_t *shorts = args[1];
	uint64_t *words = args[2];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++) {
		words[i] = 0;
		for (int k = 0; k < 8; k++)
			words[i] |= (uint64_t)in[i + k] << 8 * k;
		shorts[i] = (int16_t)((int8_t)in[i] * in[i + 1] - (int16_t)(in[i + 2] << 8));
	}
}

static void aligned(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1];

	for (int i = 0; i < (int)(c->grid[0] * c->block[0]); i++)
		out[i] = in[i] * ((i & 15) / 4) + (i & 3) + in[i] + (i & 3);
}

struct numbers {
	int v[64];
};

static void address(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const struct numbers *n = args[0];
	const int *in = args[1];
	int *out = args[2];

	for (int i = 0; i < 256; i++)
		out[i] = n->v[in[255 - i] & 31] * 100 + n->v[(in[i] & 31) + 1];
}

const struct cuda_case memory_cases[] = {
	{ .kernel = "memory_constant", { 2 }, { 40 }, 0, { BUFFER(I32, 80, RANDOM), BUFFER(I32, 80, ZERO) },
	  constant },
	{ .kernel = "memory_variable", { 1 }, { 60 }, 0, { BUFFER(I32, 60, ZERO) }, variable, .launches = 3 },
	{ .kernel = "memory_local", { 3 }, { 40 }, 0, { BUFFER(I32, 120, RANDOM), BUFFER(I32, 120, ZERO) }, local },
	{ .kernel = "memory_struct", { 3 }, { 40 }, 0, { VALUE(struct parameters, 'k', -7, { 100, 200, 300 }, 2.75),
	  BUFFER(I32, 120, RANDOM), BUFFER(I32, 120, ZERO), VALUE(int32_t[4], 5, 6, 7, 8), VALUE(char, 3) },
	  structure },
	{ .kernel = "memory_vectors", { 3 }, { 20 }, 0, { BUFFER(F32, 240, RANDOM), BUFFER(F32, 240, ZERO), BUFFER(U8,
	  240, ZERO) }, vectors },
	{ .kernel = "memory_bytes", { 2 }, { 100 }, 0, { BUFFER(U8, 210, RANDOM), BUFFER(I16, 200, ZERO), BUFFER(I64,
	  200, ZERO) }, bytes },
	{ .kernel = "memory_aligned", { 2 }, { 40 }, 0, { BUFFER(I32, 80, RANDOM), BUFFER(I32, 80, ZERO) }, aligned },
	{ .kernel = "memory_address", { 1 }, { 256 }, 0, { VALUE(struct numbers, { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8,
	  9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7, 9, 5, 1 }), BUFFER(I32, 256, RANDOM),
	  BUFFER(I32, 256, ZERO) }, address },
	{ 0 },
};
