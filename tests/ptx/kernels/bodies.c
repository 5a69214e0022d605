/* SPDX-License-Identifier: MIT */
/* bodies.c - what the kernels of bodies.cu compute, by the C library. */
#include "cases.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

static void of_double(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int n = *(int *)args[2];

	for (int i = 0; i < n; i++) {
		const double part = ((double *)args[0])[i], x = part * 8, size = fabs(x), turn = x - 2 * rint(x / 2);
		const double values[] = {
			exp(x), exp2(x), pow(10, x), expm1(x), log(size), log2(size), log10(size), log1p(size),
			sin(x), cos(x), tan(part), sin(x * 1e200), cos(x * 1e9), sin(pi * turn), cos(pi * turn),
			asin(part), acos(part), atan(x), atan2(x, 3), sinh(x), cosh(x), tanh(x), asinh(x),
			acosh(size + 1), atanh(part / 2), pow(size, x), cbrt(x), hypot(x, 3), fmod(x, 0.7),
			remainder(x, 0.7), erf(x), erfc(part), tgamma(size + 1), lgamma(size + 1), j0(x),
			y1(size + 1),
		};

		for (int k = 0; k < 36; k++)
			((double *)args[1])[k * n + i] = values[k];
	}
}

static void of_float(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int n = *(int *)args[2];

	for (int i = 0; i < n; i++) {
		const float x = ((float *)args[0])[i] * 8, size = fabsf(x);
		const double values[] = {
			exp(x), log(size), sin(x), cos(x), sin((double)(x * 1e6f)), pow(size, x), tanh(x),
			atan2(x, 3), erf(x), cbrt(x),
		};

		for (int k = 0; k < 10; k++)
			((float *)args[1])[k * n + i] = (float)values[k];
	}
}

const struct cuda_case bodies_cases[] = {
	{ .kernel = "body_double", { 8 }, { 64 }, 0, { BUFFER(F64, 512, RANDOM), BUFFER(F64, 18432, ZERO),
	  VALUE(int, 512) }, of_double, 4e-15 },
	{ .kernel = "body_float", { 8 }, { 64 }, 0, { BUFFER(F32, 512, RANDOM), BUFFER(F32, 5120, ZERO),
	  VALUE(int, 512) }, of_float, 3e-7 },
	{ 0 },
};
