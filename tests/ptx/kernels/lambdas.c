/* SPDX-License-Identifier: MIT */
/* lambdas.c - what the kernels of lambdas.cu compute. */
#include "cases.h"

/* What the lambda has of its surroundings. */
struct captured {
	int a;
	short b;
};

static void apply(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const struct captured *f = args[2];
	int *data = args[0];

	for (int i = 0; i < *(int *)args[1]; i++)
		data[i] = i % 3 ? data[i] * f->a : data[i] - f->b;
}

const struct cuda_case lambdas_cases[] = {
	{ .kernel = "lambda_apply", { 4 }, { 64 }, 0, { BUFFER(I32, 700, RANDOM), VALUE(int, 700),
	  VALUE(struct captured, 13, -5) }, apply },
	{ 0 },
};
