/* SPDX-License-Identifier: MIT */
/* exits.c - what the kernels of exits.cu compute. */
#include "cases.h"

static void guard(const struct cuda_case *c, void *const *args, unsigned launch)
{
	float *data = args[0];

	for (int i = 0; i < *(int *)args[1]; i++)
		data[i] = data[i] * 2 + 1;
}

static void in_loop(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0], n = *(int *)args[2];
	int *out = args[1];

	for (int i = 0; i < (int)(c->grid[0] * c->block[0]); i++) {
		int k = 0;

		while (k < n && in[k] % 1000 != i && !(in[k] % 777 == i && k > 100))
			k++;
		if (k == n)
			out[i] = -2;
		else if (in[k] % 1000 == i)
			out[i] = k;
	}
}

static void before_barrier(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1];

	for (unsigned b = 0; b < c->grid[0]; b++, in += 128, out += 128)
		for (int t = 0; t < 128; t++)	/* three rounds: 0 + 1 + 2, and thread t has what t + 64 had */
			out[t] = t / 32 % 2 ? -1 : in[(t + 64) % 128] + 3;
}

static void collatz(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const uint32_t *in = args[0];
	uint32_t *out = args[1];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++) {
		uint32_t x = in[i] % 1000 + 1;

		for (out[i] = 0; x != 1 && out[i] < 150; out[i]++)
			x = x & 1 ? 3 * x + 1 : x / 2;
	}
}

static int by_case(int x, int old)
{
	switch (x & 7) {
	case 0:
		return old;
	case 1:
		return (x + 3) * 7;
	case 2:
		return x * 7;
	case 3:
		for (int k = 0; k < (x >> 3 & 15); k++)
			x ^= x << 1;
		return x;
	case 5:
		return -x;
	case 6:
		return x >> 2;
	default:
		return ~x;
	}
}

static void by_switch(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++)
		out[i] = by_case(in[i], out[i]);
}

const struct cuda_case exits_cases[] = {
	{ .kernel = "exit_guard", { 4 }, { 100 }, 0, { BUFFER(F32, 400, RANDOM), VALUE(int, 333) }, guard, 1e-6 },
	{ .kernel = "exit_in_loop", { 8 }, { 64 }, 0, { BUFFER(I32, 500, RANDOM), BUFFER(I32, 512, ZERO), VALUE(int,
	  500) }, in_loop },
	{ .kernel = "exit_before_barrier", { 3 }, { 128 }, 0, { BUFFER(I32, 384, RANDOM), BUFFER(I32, 384, ZERO) },
	  before_barrier },
	{ .kernel = "exit_collatz", { 5 }, { 33 }, 0, { BUFFER(I32, 165, RANDOM), BUFFER(I32, 165, ZERO) }, collatz },
	{ .kernel = "exit_switch", { 5 }, { 70 }, 0, { BUFFER(I32, 350, RANDOM), BUFFER(I32, 350, RANDOM) },
	  by_switch },
	{ 0 },
};
