/* SPDX-License-Identifier: MIT */
/*
 * adsm_math_float.h - the bodies of mathematical functions in single precision, for GPUs, as in adsm_math_double.h. The
 * most frequent ones have their own, with errors of up to two units in the last place. The others are rounded from
 * double precision.
 */
#ifndef ADSM_CUDA_MATH_FLOAT_H
#define ADSM_CUDA_MATH_FLOAT_H

#include "adsm_math_bessel.h"

#define ADSM_CUDA_ROUNDED_1(name) ADSM_CUDA_BODY float __nv_##name##f(float x) { return (float)__nv_##name((double)x); }
#define ADSM_CUDA_ROUNDED_2(name) \
	ADSM_CUDA_BODY float __nv_##name##f(float x, float y) { return (float)__nv_##name((double)x, (double)y); }

ADSM_CUDA_ROUNDED_1(acos)
ADSM_CUDA_ROUNDED_1(acosh)
ADSM_CUDA_ROUNDED_1(asin)
ADSM_CUDA_ROUNDED_1(asinh)
ADSM_CUDA_ROUNDED_1(atan)
ADSM_CUDA_ROUNDED_1(atanh)
ADSM_CUDA_ROUNDED_1(cbrt)
ADSM_CUDA_ROUNDED_1(cosh)
ADSM_CUDA_ROUNDED_1(cospi)
ADSM_CUDA_ROUNDED_1(cyl_bessel_i0)
ADSM_CUDA_ROUNDED_1(cyl_bessel_i1)
ADSM_CUDA_ROUNDED_1(erf)
ADSM_CUDA_ROUNDED_1(erfc)
ADSM_CUDA_ROUNDED_1(erfcinv)
ADSM_CUDA_ROUNDED_1(erfcx)
ADSM_CUDA_ROUNDED_1(erfinv)
ADSM_CUDA_ROUNDED_1(exp10)
ADSM_CUDA_ROUNDED_1(exp2)
ADSM_CUDA_ROUNDED_1(expm1)
ADSM_CUDA_ROUNDED_1(j0)
ADSM_CUDA_ROUNDED_1(j1)
ADSM_CUDA_ROUNDED_1(lgamma)
ADSM_CUDA_ROUNDED_1(log10)
ADSM_CUDA_ROUNDED_1(log1p)
ADSM_CUDA_ROUNDED_1(log2)
ADSM_CUDA_ROUNDED_1(normcdf)
ADSM_CUDA_ROUNDED_1(normcdfinv)
ADSM_CUDA_ROUNDED_1(rcbrt)
ADSM_CUDA_ROUNDED_1(sinh)
ADSM_CUDA_ROUNDED_1(sinpi)
ADSM_CUDA_ROUNDED_1(tan)
ADSM_CUDA_ROUNDED_1(tanh)
ADSM_CUDA_ROUNDED_1(tgamma)
ADSM_CUDA_ROUNDED_1(y0)
ADSM_CUDA_ROUNDED_1(y1)
ADSM_CUDA_ROUNDED_2(atan2)
ADSM_CUDA_ROUNDED_2(fmod)
ADSM_CUDA_ROUNDED_2(hypot)
ADSM_CUDA_ROUNDED_2(pow)
ADSM_CUDA_ROUNDED_2(remainder)
#undef ADSM_CUDA_ROUNDED_1
#undef ADSM_CUDA_ROUNDED_2

ADSM_CUDA_BODY float __nv_powif(float x, int n)
{
	return (float)__nv_pow((double)x, n);
}

ADSM_CUDA_BODY float __nv_jnf(int n, float x)
{
	return (float)__nv_jn(n, (double)x);
}

ADSM_CUDA_BODY float __nv_ynf(int n, float x)
{
	return (float)__nv_yn(n, (double)x);
}

namespace adsm_cuda {

template <int N>
ADSM_CUDA_DEVICE float polynomial(float x, const float (&c)[N])
{
	float value = c[N - 1];

	for (int i = N - 2; i >= 0; i--)
		value = __builtin_fmaf(value, x, c[i]);
	return value;
}

ADSM_CUDA_DEVICE float power_of_two_float(int n) { return __builtin_bit_cast(float, (n + 127) << 23); }

ADSM_CUDA_DEVICE float sine_of(float x)
{
	const float c[] = { -1.0f / 6, 1.0f / 120, -1.0f / 5040, 1.0f / 362880 };
	const float z = x * x;

	return __builtin_fmaf(x * z, polynomial(z, c), x);
}

ADSM_CUDA_DEVICE float cosine_of(float x)
{
	const float c[] = { -1.0f / 2, 1.0f / 24, -1.0f / 720, 1.0f / 40320, -1.0f / 3628800 };
	const float z = x * x;

	return __builtin_fmaf(z, polynomial(z, c), 1);
}

/* The sine of an angle and @more right angles: pi / 2 in three parts, or in double precision. */
ADSM_CUDA_DEVICE float sine_of_any(float x, int more)
{
	const float n = __builtin_rintf(x * 0x1.45f306p-1f);
	float rest = __builtin_fmaf(-n, 0x1.921fb4p+0f, x), value;
	int quadrant = ((int)n + more) & 3;

	rest = __builtin_fmaf(-n, 0x1.4442d0p-24f, rest);
	rest = __builtin_fmaf(-n, 0x1.84698ap-48f, rest);
	if (__builtin_fabsf(x) > 1000) {
		const angle a = reduced((double)x);

		rest = (float)a.high;
		quadrant = (a.quadrant + more) & 3;
	}
	value = quadrant & 1 ? cosine_of(rest) : sine_of(rest);
	return quadrant & 2 ? -value : value;
}

}

ADSM_CUDA_BODY float __nv_expf(float x)
{
	const float c[] = { 1.0f / 2, 1.0f / 6, 1.0f / 24, 1.0f / 120, 1.0f / 720, 1.0f / 5040 };
	const float n = __builtin_rintf(x * 0x1.715476p+0f);
	const float r = __builtin_fmaf(-n, 0x1.7f7d1cp-20f, __builtin_fmaf(-n, 0x1.62e400p-1f, x));
	const int half = (int)n / 2;

	if (!(x < 88.73f))
		return x != x ? x : __builtin_huge_valf();
	return x < -104 ? 0 : (1 + __builtin_fmaf(r * r, adsm_cuda::polynomial(r, c), r)) *
		adsm_cuda::power_of_two_float(half) * adsm_cuda::power_of_two_float((int)n - half);
}

ADSM_CUDA_BODY float __nv_logf(float x)
{
	const float c[] = { 2.0f / 3, 2.0f / 5, 2.0f / 7, 2.0f / 9, 2.0f / 11 };
	const bool small = x < 0x1p-126f;
	const unsigned int bits = __builtin_bit_cast(unsigned int, small ? x * 0x1p24f : x) + (0x3f800000 - 0x3f3504f3);
	const float n = (float)((int)(bits >> 23) - 127 - (small ? 24 : 0));
	const float f = __builtin_bit_cast(float, (bits & 0x7fffff) + 0x3f3504f3) - 1, s = f / (2 + f), z = s * s;
	const float half = f * f / 2, tail = s * (half + z * adsm_cuda::polynomial(z, c)) - half;

	if (!(x > 0) || x == __builtin_huge_valf())
		return x == 0 ? -__builtin_huge_valf() : x < 0 ? __builtin_nanf("") : x;
	return __builtin_fmaf(n, 0x1.62e400p-1f, f + __builtin_fmaf(n, 0x1.7f7d1cp-20f, tail));
}

ADSM_CUDA_BODY float __nv_sinf(float x)
{
	return x - x != 0 ? __builtin_nanf("") : x == 0 ? x : adsm_cuda::sine_of_any(x, 0);
}

ADSM_CUDA_BODY float __nv_cosf(float x)
{
	return x - x != 0 ? __builtin_nanf("") : adsm_cuda::sine_of_any(x, 1);
}

#endif
