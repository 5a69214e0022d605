/* SPDX-License-Identifier: MIT */
/*
 * math_functions.h - the mathematical functions of kernels, in float and double.
 *
 * What is one instruction, or a few, is here. The others are calls of functions whose names begin with __nv_, with
 * bodies for GPUs in adsm_math_double.h and the headers beside it. Devices of the library do not use the bodies: they
 * use the C library's functions.
 */
#ifndef ADSM_CUDA_MATH_FUNCTIONS_H
#define ADSM_CUDA_MATH_FUNCTIONS_H

#include "adsm_math_forward.h"

#include <math.h>
#include <stdlib.h>

/* ---- Functions that are called ------------------------------------------------------------ */

#define ADSM_CUDA_CALL_1(name) \
	extern "C" __device__ __attribute__((const, nothrow)) double __nv_##name(double x); \
	extern "C" __device__ __attribute__((const, nothrow)) float __nv_##name##f(float x); \
	ADSM_CUDA_DEVICE double name(double x) { return __nv_##name(x); } \
	ADSM_CUDA_DEVICE float name(float x) { return __nv_##name##f(x); } \
	ADSM_CUDA_DEVICE float name##f(float x) { return __nv_##name##f(x); }
#define ADSM_CUDA_CALL_2(name) \
	extern "C" __device__ __attribute__((const, nothrow)) double __nv_##name(double x, double y); \
	extern "C" __device__ __attribute__((const, nothrow)) float __nv_##name##f(float x, float y); \
	ADSM_CUDA_DEVICE double name(double x, double y) { return __nv_##name(x, y); } \
	ADSM_CUDA_DEVICE float name(float x, float y) { return __nv_##name##f(x, y); } \
	ADSM_CUDA_DEVICE float name##f(float x, float y) { return __nv_##name##f(x, y); }

ADSM_CUDA_CALLED_1(ADSM_CUDA_CALL_1)
ADSM_CUDA_CALLED_2(ADSM_CUDA_CALL_2)
ADSM_CUDA_OWN_CALLED_1(ADSM_CUDA_CALL_1)
#undef ADSM_CUDA_CALL_1
#undef ADSM_CUDA_CALL_2

extern "C" __device__ __attribute__((const, nothrow)) double __nv_powi(double x, int n);
extern "C" __device__ __attribute__((const, nothrow)) float __nv_powif(float x, int n);
extern "C" __device__ __attribute__((const, nothrow)) double __nv_jn(int n, double x);
extern "C" __device__ __attribute__((const, nothrow)) float __nv_jnf(int n, float x);
extern "C" __device__ __attribute__((const, nothrow)) double __nv_yn(int n, double x);
extern "C" __device__ __attribute__((const, nothrow)) float __nv_ynf(int n, float x);
ADSM_CUDA_DEVICE double pow(double x, int n) { return __nv_powi(x, n); }
ADSM_CUDA_DEVICE float pow(float x, int n) { return __nv_powif(x, n); }
ADSM_CUDA_DEVICE double powi(double x, int n) { return __nv_powi(x, n); }
ADSM_CUDA_DEVICE float powif(float x, int n) { return __nv_powif(x, n); }
ADSM_CUDA_DEVICE double jn(int n, double x) { return __nv_jn(n, x); }
ADSM_CUDA_DEVICE float jnf(int n, float x) { return __nv_jnf(n, x); }
ADSM_CUDA_DEVICE double yn(int n, double x) { return __nv_yn(n, x); }
ADSM_CUDA_DEVICE float ynf(int n, float x) { return __nv_ynf(n, x); }

#include "adsm_math_float.h"

/* ---- A few instructions ------------------------------------------------------------------- */

#define ADSM_CUDA_BUILTIN_1(name) \
	ADSM_CUDA_DEVICE double name(double x) { return __builtin_##name(x); } \
	ADSM_CUDA_DEVICE float name(float x) { return __builtin_##name##f(x); } \
	ADSM_CUDA_DEVICE float name##f(float x) { return __builtin_##name##f(x); }
#define ADSM_CUDA_BUILTIN_2(name) \
	ADSM_CUDA_DEVICE double name(double x, double y) { return __builtin_##name(x, y); } \
	ADSM_CUDA_DEVICE float name(float x, float y) { return __builtin_##name##f(x, y); } \
	ADSM_CUDA_DEVICE float name##f(float x, float y) { return __builtin_##name##f(x, y); }

ADSM_CUDA_BUILTIN_1(ceil)
ADSM_CUDA_BUILTIN_1(fabs)
ADSM_CUDA_BUILTIN_1(floor)
ADSM_CUDA_BUILTIN_1(nearbyint)
ADSM_CUDA_BUILTIN_1(rint)
ADSM_CUDA_BUILTIN_1(round)
ADSM_CUDA_BUILTIN_1(trunc)
ADSM_CUDA_BUILTIN_2(copysign)
ADSM_CUDA_BUILTIN_2(fmax)
ADSM_CUDA_BUILTIN_2(fmin)
#undef ADSM_CUDA_BUILTIN_1
#undef ADSM_CUDA_BUILTIN_2

ADSM_CUDA_DEVICE double sqrt(double x) { return __nvvm_sqrt_rn_d(x); }
ADSM_CUDA_DEVICE float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
ADSM_CUDA_DEVICE float sqrt(float x) { return sqrtf(x); }
ADSM_CUDA_DEVICE double rsqrt(double x) { return 1 / sqrt(x); }
ADSM_CUDA_DEVICE float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
ADSM_CUDA_DEVICE float rsqrt(float x) { return rsqrtf(x); }
ADSM_CUDA_DEVICE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
ADSM_CUDA_DEVICE float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
ADSM_CUDA_DEVICE float fma(float x, float y, float z) { return fmaf(x, y, z); }
ADSM_CUDA_DEVICE double fdim(double x, double y) { return x <= y ? 0 : x - y; }
ADSM_CUDA_DEVICE float fdimf(float x, float y) { return x <= y ? 0 : x - y; }
ADSM_CUDA_DEVICE float fdim(float x, float y) { return fdimf(x, y); }
ADSM_CUDA_DEVICE float fdividef(float x, float y) { return x / y; }
ADSM_CUDA_DEVICE float saturate(float x) { return __nvvm_saturate_f(x); }

ADSM_CUDA_DEVICE int abs(int x) { return x < 0 ? -x : x; }
ADSM_CUDA_DEVICE long abs(long x) { return x < 0 ? -x : x; }
ADSM_CUDA_DEVICE long long abs(long long x) { return x < 0 ? -x : x; }
ADSM_CUDA_DEVICE double abs(double x) { return fabs(x); }
ADSM_CUDA_DEVICE float abs(float x) { return fabsf(x); }
ADSM_CUDA_DEVICE long labs(long x) { return abs(x); }
ADSM_CUDA_DEVICE long long llabs(long long x) { return abs(x); }

ADSM_CUDA_DEVICE long lrint(double x) { return __nvvm_d2ll_rn(x); }
ADSM_CUDA_DEVICE long lrintf(float x) { return __nvvm_f2ll_rn(x); }
ADSM_CUDA_DEVICE long lrint(float x) { return lrintf(x); }
ADSM_CUDA_DEVICE long long llrint(double x) { return __nvvm_d2ll_rn(x); }
ADSM_CUDA_DEVICE long long llrintf(float x) { return __nvvm_f2ll_rn(x); }
ADSM_CUDA_DEVICE long long llrint(float x) { return llrintf(x); }
ADSM_CUDA_DEVICE long lround(double x) { return __nvvm_d2ll_rz(round(x)); }
ADSM_CUDA_DEVICE long lroundf(float x) { return __nvvm_f2ll_rz(roundf(x)); }
ADSM_CUDA_DEVICE long lround(float x) { return lroundf(x); }
ADSM_CUDA_DEVICE long long llround(double x) { return __nvvm_d2ll_rz(round(x)); }
ADSM_CUDA_DEVICE long long llroundf(float x) { return __nvvm_f2ll_rz(roundf(x)); }
ADSM_CUDA_DEVICE long long llround(float x) { return llroundf(x); }

ADSM_CUDA_DEVICE double nan(const char *) { return __builtin_nan(""); }
ADSM_CUDA_DEVICE float nanf(const char *) { return __builtin_nanf(""); }

/* ---- Exponents and fractions -------------------------------------------------------------- */

#define ADSM_CUDA_HALF_MAX(bits) ((1 << ((bits) - 1)) - 1)

/*
 * For a type of @mantissa and @exponent bits, @name##suffix. Numbers below the normal ones are multiplied by two to the
 * power of @mantissa + 1 first.
 */
#define ADSM_CUDA_PARTS(type, suffix, word, mantissa, exponent) \
	ADSM_CUDA_DEVICE word adsm_cuda_word(type x) { return __builtin_bit_cast(word, x); } \
	/* The exponent of a finite number that is not 0. */ \
	ADSM_CUDA_DEVICE int adsm_cuda_exponent(type x) \
	{ \
		const int bias = ADSM_CUDA_HALF_MAX(exponent), all = (1 << (exponent)) - 1; \
		const int of_x = (int)(adsm_cuda_word(x) >> (mantissa)) & all; \
		const type scaled = x * (type)((word)2 << (mantissa)); \
		const int of_scaled = (int)(adsm_cuda_word(scaled) >> (mantissa)) & all; \
		\
		return of_x ? of_x - bias : of_scaled - bias - ((mantissa) + 1); \
	} \
	ADSM_CUDA_DEVICE bool adsm_cuda_finite(type x) { return x - x == 0; } \
	/* Two to the power of @n, a normal number. */ \
	ADSM_CUDA_DEVICE type adsm_cuda_power##suffix(int n) \
	{ \
		return __builtin_bit_cast(type, (word)(n + ADSM_CUDA_HALF_MAX(exponent)) << (mantissa)); \
	} \
	/* Factors that are normal numbers. Where two products are rounded, the result is 0. */ \
	ADSM_CUDA_DEVICE type ldexp##suffix(type x, int n) \
	{ \
		const int most = ADSM_CUDA_HALF_MAX(exponent) - 1; \
		\
		for (int i = 0; i < 3 && n > most; i++, n -= most) \
			x *= adsm_cuda_power##suffix(most); \
		for (int i = 0; i < 3 && n < -most; i++, n += most - (mantissa) - 1) \
			x *= adsm_cuda_power##suffix(-most + (mantissa) + 1); \
		return x * adsm_cuda_power##suffix(n > most ? most : n < -most ? -most : n); \
	} \
	ADSM_CUDA_DEVICE type scalbn##suffix(type x, int n) { return ldexp##suffix(x, n); } \
	ADSM_CUDA_DEVICE type scalbln##suffix(type x, long n) \
	{ \
		return ldexp##suffix(x, n > 100000 ? 100000 : n < -100000 ? -100000 : (int)n); \
	} \
	ADSM_CUDA_DEVICE type frexp##suffix(type x, int *ret_exponent) \
	{ \
		const bool plain = x != 0 && adsm_cuda_finite(x); \
		\
		*ret_exponent = plain ? adsm_cuda_exponent(x) + 1 : 0; \
		return plain ? ldexp##suffix(x, -*ret_exponent) : x; \
	} \
	ADSM_CUDA_DEVICE type modf##suffix(type x, type *ret_whole) \
	{ \
		*ret_whole = trunc##suffix(x); \
		return copysign##suffix(adsm_cuda_finite(x) ? x - *ret_whole : x != x ? x : 0, x); \
	} \
	ADSM_CUDA_DEVICE int ilogb##suffix(type x) \
	{ \
		const int none = x == 0 || x != x ? -__INT_MAX__ - 1 : __INT_MAX__; \
		\
		return x != 0 && adsm_cuda_finite(x) ? adsm_cuda_exponent(x) : none; \
	} \
	ADSM_CUDA_DEVICE type logb##suffix(type x) \
	{ \
		return x == 0 ? -(type)__builtin_inf() : \
			adsm_cuda_finite(x) ? (type)adsm_cuda_exponent(x) : x * x; \
	} \
	ADSM_CUDA_DEVICE type nextafter##suffix(type x, type y) \
	{ \
		if (x != x || y != y) \
			return x + y; \
		if (x == y) \
			return y; \
		if (x == 0) \
			return copysign##suffix(__builtin_bit_cast(type, (word)1), y); \
		return __builtin_bit_cast(type, adsm_cuda_word(x) + \
					  ((x < y) == (x > 0) ? (word)1 : (word)-1)); \
	} \
	/* The three lowest bits of the quotient: of the remainder by y, 2y, 4y and 8y. */ \
	ADSM_CUDA_DEVICE type remquo##suffix(type x, type y, int *ret_quotient) \
	{ \
		const type ax = fabs##suffix(x), ay = fabs##suffix(y); \
		const type most = adsm_cuda_power##suffix(ADSM_CUDA_HALF_MAX(exponent) - 2); \
		/* An infinity has no remainder. */ \
		type rest = ay < most || !adsm_cuda_finite(x) ? fmod##suffix(ax, 8 * ay) : ax; \
		int n = 0; \
		\
		for (int i = 4; i > 0; i /= 2) \
			if (rest >= i * ay) { \
				rest -= i * ay; \
				n += i; \
			} \
		if (rest > ay - rest || (rest == ay - rest && n & 1)) { \
			rest -= ay; \
			n++; \
		} \
		*ret_quotient = (x < 0) != (y < 0) ? -(n & 7) : n & 7; \
		return x != x || y != y ? x + y : copysign##suffix(1, x) < 0 ? -rest : rest; \
	}

ADSM_CUDA_PARTS(double, , unsigned long long, 52, 11)
ADSM_CUDA_PARTS(float, f, unsigned int, 23, 8)
#undef ADSM_CUDA_PARTS
#undef ADSM_CUDA_HALF_MAX

ADSM_CUDA_DEVICE float ldexp(float x, int n) { return ldexpf(x, n); }
ADSM_CUDA_DEVICE float scalbn(float x, int n) { return scalbnf(x, n); }
ADSM_CUDA_DEVICE float scalbln(float x, long n) { return scalblnf(x, n); }
ADSM_CUDA_DEVICE float frexp(float x, int *ret_exponent) { return frexpf(x, ret_exponent); }
ADSM_CUDA_DEVICE float modf(float x, float *ret_whole) { return modff(x, ret_whole); }
ADSM_CUDA_DEVICE int ilogb(float x) { return ilogbf(x); }
ADSM_CUDA_DEVICE float logb(float x) { return logbf(x); }
ADSM_CUDA_DEVICE float nextafter(float x, float y) { return nextafterf(x, y); }
ADSM_CUDA_DEVICE float remquo(float x, float y, int *ret_quotient) { return remquof(x, y, ret_quotient); }

/* ---- Pairs and norms ---------------------------------------------------------------------- */

ADSM_CUDA_DEVICE void sincos(double x, double *ret_sin, double *ret_cos)
{
	*ret_sin = sin(x);
	*ret_cos = cos(x);
}

ADSM_CUDA_DEVICE void sincosf(float x, float *ret_sin, float *ret_cos)
{
	*ret_sin = sinf(x);
	*ret_cos = cosf(x);
}

ADSM_CUDA_DEVICE void sincos(float x, float *ret_sin, float *ret_cos) { sincosf(x, ret_sin, ret_cos); }

ADSM_CUDA_DEVICE void sincospi(double x, double *ret_sin, double *ret_cos)
{
	*ret_sin = sinpi(x);
	*ret_cos = cospi(x);
}

ADSM_CUDA_DEVICE void sincospif(float x, float *ret_sin, float *ret_cos)
{
	*ret_sin = sinpif(x);
	*ret_cos = cospif(x);
}

ADSM_CUDA_DEVICE void sincospi(float x, float *ret_sin, float *ret_cos) { sincospif(x, ret_sin, ret_cos); }

ADSM_CUDA_DEVICE double norm3d(double x, double y, double z) { return hypot(hypot(x, y), z); }
ADSM_CUDA_DEVICE float norm3df(float x, float y, float z) { return hypotf(hypotf(x, y), z); }
ADSM_CUDA_DEVICE double norm4d(double x, double y, double z, double w) { return hypot(hypot(x, y), hypot(z, w)); }
ADSM_CUDA_DEVICE float norm4df(float x, float y, float z, float w) { return hypotf(hypotf(x, y), hypotf(z, w)); }
ADSM_CUDA_DEVICE double rhypot(double x, double y) { return 1 / hypot(x, y); }
ADSM_CUDA_DEVICE float rhypotf(float x, float y) { return 1 / hypotf(x, y); }
ADSM_CUDA_DEVICE float rhypot(float x, float y) { return rhypotf(x, y); }
ADSM_CUDA_DEVICE double rnorm3d(double x, double y, double z) { return 1 / norm3d(x, y, z); }
ADSM_CUDA_DEVICE float rnorm3df(float x, float y, float z) { return 1 / norm3df(x, y, z); }
ADSM_CUDA_DEVICE double rnorm4d(double x, double y, double z, double w) { return 1 / norm4d(x, y, z, w); }
ADSM_CUDA_DEVICE float rnorm4df(float x, float y, float z, float w) { return 1 / norm4df(x, y, z, w); }

/* Of @n elements. */
ADSM_CUDA_DEVICE double norm(int n, const double *p)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum = hypot(sum, p[i]);
	return sum;
}

ADSM_CUDA_DEVICE float normf(int n, const float *p)
{
	float sum = 0;

	for (int i = 0; i < n; i++)
		sum = hypotf(sum, p[i]);
	return sum;
}

ADSM_CUDA_DEVICE double rnorm(int n, const double *p) { return 1 / norm(n, p); }
ADSM_CUDA_DEVICE float rnormf(int n, const float *p) { return 1 / normf(n, p); }

/* ---- Of integers -------------------------------------------------------------------------- */

#define ADSM_CUDA_INTEGER(name) \
	template <typename T> \
	ADSM_CUDA_DEVICE typename adsm_cuda_promoted<T>::result name(T x) { return name((double)x); }
ADSM_CUDA_CALLED_1(ADSM_CUDA_INTEGER)
ADSM_CUDA_INLINE_1(ADSM_CUDA_INTEGER)
#undef ADSM_CUDA_INTEGER

#include "adsm_math_host.h"

#endif
