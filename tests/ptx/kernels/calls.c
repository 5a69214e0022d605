/* SPDX-License-Identifier: MIT */
/* calls.c - what the kernels of calls.cu compute. */
#include "cases.h"

#include <stdlib.h>

static void fibonacci(const struct cuda_case *c, void *const *args, unsigned launch)
{
	int *out = args[0];

	for (int i = 0; i < (int)(c->grid[0] * c->block[0]); i++) {
		int now = 0, next = 1;

		for (int k = i % 12; k > 0; k--) {
			const int sum = now + next;

			now = next;
			next = sum;
		}
		out[i] = now;
	}
}

static void mutual(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++)
		out[i] = (in[i] & 1 ? 0 : 1) + ((in[i] & 63) / 3 & 1 ? 2 : 0);
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

static void quicksort(const struct cuda_case *c, void *const *args, unsigned launch)
{
	int *data = args[0];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++)
		qsort(data + 20 * i, 20, sizeof(*data), compare);
}

static void pointers(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1];

	for (int i = 0; i < (int)(c->grid[0] * c->block[0]); i++) {
		const int choice = in[i] & 3, smaller = in[i] < i ? in[i] : i;

		out[i] = choice == 0 ? in[i] + i : choice == 1 ? in[i] - i : choice == 2 ? in[i] * i : smaller;
	}
}

static void table(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1];

	for (int i = 0; i < (int)(c->grid[0] * c->block[0]); i++) {
		const int results[] = { i + 7, 2 * i, 3 * i, i + 1 };

		out[i] = results[in[i] & 3];
	}
}

static float circle(float radius)
{
	return 3 * radius * radius * 8;
}

static float rectangle(float width, float height)
{
	return width * height * 8 + 4;
}

static void virtual(const struct cuda_case *c, void *const *args, unsigned launch)
{
	float *out = args[0];

	for (int i = 0; i < (int)(c->grid[0] * c->block[0]); i++)
		out[i] = i % 3 ? rectangle((float)i, 2) : circle((float)i);
}

static void override(const struct cuda_case *c, void *const *args, unsigned launch)
{
	float *out = args[0];

	for (int i = 0; i < (int)(c->grid[0] * c->block[0]); i++)
		out[i] = i % 3 ? (float)(i * 8 + i + 5) : rectangle((float)i, 2);
}

static void new(const struct cuda_case *c, void *const *args, unsigned launch)
{
	float *out = args[0];

	for (unsigned b = 0; b < c->grid[0]; b++)
		for (int t = 0; t < 32; t++)
			*out++ = t % 2 ? circle((float)(31 - t)) : rectangle((float)(31 - t), (float)b);
}

/* Every second launch reads what the one before has left. */
static void heap(const struct cuda_case *c, void *const *args, unsigned launch)
{
	int *out = args[1];

	for (unsigned i = 0; launch % 2 && i < c->grid[0] * c->block[0]; i++)
		out[i] += 4 * (int)i;
}

const struct cuda_case calls_cases[] = {
	{ .kernel = "call_fibonacci", { 2 }, { 30 }, 0, { BUFFER(I32, 60, ZERO) }, fibonacci },
	{ .kernel = "call_mutual", { 2 }, { 40 }, 0, { BUFFER(I32, 80, RANDOM), BUFFER(I32, 80, ZERO) }, mutual },
	{ .kernel = "call_quicksort", { 2 }, { 10 }, 0, { BUFFER(I32, 400, RANDOM) }, quicksort },
	{ .kernel = "call_pointers", { 3 }, { 32 }, 0, { BUFFER(I32, 96, RANDOM), BUFFER(I32, 96, ZERO) }, pointers },
	{ .kernel = "call_table", { 3 }, { 32 }, 32 * sizeof(int), { BUFFER(I32, 96, RANDOM), BUFFER(I32, 96, ZERO) },
	  table },
	{ .kernel = "call_virtual", { 3 }, { 32 }, 0, { BUFFER(F32, 96, ZERO) }, virtual },
	{ .kernel = "call_override", { 3 }, { 32 }, 0, { BUFFER(F32, 96, ZERO) }, override },
	{ .kernel = "call_new", { 3 }, { 32 }, 0, { BUFFER(F32, 96, ZERO) }, new },
	{ .kernel = "call_heap", { 3 }, { 32 }, 0, { BUFFER(I64, 96, ZERO), BUFFER(I32, 96, ZERO) }, heap,
	  .launches = 4 },
	{ 0 },
};
