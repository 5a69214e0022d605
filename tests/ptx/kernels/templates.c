/* SPDX-License-Identifier: MIT */
/* templates.c - what the kernels of templates.cu compute. */
#include "cases.h"

struct polynomial {
	int factors[5];
};

static void evaluate(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const struct polynomial *p = args[2];
	const int *in = args[0];
	int *out = args[1];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++)
		out[i] = (((p->factors[4] * in[i] + p->factors[3]) * in[i] + p->factors[2]) * in[i] +
			  p->factors[1]) * in[i] + p->factors[0];
}

static void reduce(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int64_t *in = args[0];
	int64_t *out = args[1];

	for (unsigned b = 0; b < c->grid[0]; b++, out += 2) {
		out[0] = 0;
		out[1] = INT64_MIN;
		for (int t = 0; t < 64; t++, in++) {
			out[0] += *in % 100000;
			out[1] = *in % 100000 > out[1] ? *in % 100000 : out[1];
		}
	}
}

const struct cuda_case templates_cases[] = {
	{ .kernel = "template_evaluate", { 3 }, { 50 }, 0, { BUFFER(I32, 150, RANDOM), BUFFER(I32, 150, ZERO),
	  VALUE(struct polynomial, { 7, -3, 11, 2, 5 }) }, evaluate },
	{ .kernel = "template_reduce", { 4 }, { 64 }, 0, { BUFFER(I64, 256, RANDOM), BUFFER(I64, 8, ZERO) }, reduce },
	{ 0 },
};
