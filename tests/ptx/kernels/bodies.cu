/* SPDX-License-Identifier: MIT */
/*
 * bodies.cu - the bodies of mathematical functions, as PTX. They are compiled with other names (meson.build), so that the
 * device does not use the C library's functions.
 */

extern "C" __global__ void body_double(const double *in, double *out, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const double x = in[i] * 8, size = fabs(x), part = in[i];
	const double values[] = {
		exp(x), exp2(x), exp10(x), expm1(x), log(size), log2(size), log10(size), log1p(size), sin(x), cos(x), tan(part),
		sin(x * 1e200), cos(x * 1e9), sinpi(x), cospi(x), asin(part), acos(part), atan(x), atan2(x, 3.0), sinh(x),
		cosh(x), tanh(x), asinh(x), acosh(size + 1), atanh(part / 2), pow(size, x), cbrt(x), hypot(x, 3.0),
		fmod(x, 0.7), remainder(x, 0.7), erf(x), erfc(part), tgamma(size + 1), lgamma(size + 1), j0(x), y1(size + 1),
	};

	for (int k = 0; k < 36; k++)
		out[k * n + i] = values[k];
}

extern "C" __global__ void body_float(const float *in, float *out, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const float x = in[i] * 8, size = fabsf(x);
	const float values[] = {
		expf(x), logf(size), sinf(x), cosf(x), sinf(x * 1e6f), powf(size, x), tanhf(x), atan2f(x, 3.0f), erff(x),
		cbrtf(x),
	};

	for (int k = 0; k < 10; k++)
		out[k * n + i] = values[k];
}
