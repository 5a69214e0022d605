/* SPDX-License-Identifier: MIT */
/*
 * adsm_complex.h - products and quotients of complex numbers, which clang calls by the names of compilers' run-time
 * libraries: __mulsc3() and __divsc3() of floats, __muldc3() and __divdc3() of doubles. What is infinite stays so, as
 * annex G of the C standard wants.
 */
#ifndef ADSM_CUDA_COMPLEX_H
#define ADSM_CUDA_COMPLEX_H

#include "math_functions.h"

namespace adsm_cuda {

/* 1 or 0 with the sign of @x: 1 if @x is infinite. */
template <typename T> ADSM_CUDA_DEVICE T boxed(T x) { return copysign(x != x || x - x == 0 ? (T)0 : (T)1, x); }
template <typename T> ADSM_CUDA_DEVICE bool is_infinite(T x) { return x == x && x - x != 0; }
template <typename T> ADSM_CUDA_DEVICE T no_nan(T x) { return x != x ? copysign((T)0, x) : x; }

/* The product of (a, b) and (c, d). */
template <typename T, typename Complex>
ADSM_CUDA_DEVICE Complex complex_product(T a, T b, T c, T d)
{
	Complex z;
	T x = a * c - b * d, y = a * d + b * c;

	if (x != x && y != y) {
		const bool first = is_infinite(a) || is_infinite(b), second = is_infinite(c) || is_infinite(d);
		const bool large = is_infinite(a * c) || is_infinite(b * d) || is_infinite(a * d) || is_infinite(b * c);

		if (first) {
			a = boxed(a);
			b = boxed(b);
			c = no_nan(c);
			d = no_nan(d);
		}
		if (second) {
			c = boxed(c);
			d = boxed(d);
			a = no_nan(a);
			b = no_nan(b);
		}
		if (!first && !second && large) {
			a = no_nan(a);
			b = no_nan(b);
			c = no_nan(c);
			d = no_nan(d);
		}
		if (first || second || large) {
			x = (T)__builtin_huge_val() * (a * c - b * d);
			y = (T)__builtin_huge_val() * (a * d + b * c);
		}
	}
	__real__ z = x;
	__imag__ z = y;
	return z;
}

/* (a, b) divided by (c, d), whose exponent is taken out first. */
template <typename T, typename Complex>
ADSM_CUDA_DEVICE Complex complex_quotient(T a, T b, T c, T d)
{
	const T exponent = logb(fmax(fabs(c), fabs(d)));
	const int n = exponent - exponent == 0 ? (int)exponent : 0;
	const T p = ldexp(c, -n), q = ldexp(d, -n), square = p * p + q * q;
	T x = ldexp((a * p + b * q) / square, -n), y = ldexp((b * p - a * q) / square, -n);
	Complex z;

	if (x != x && y != y) {
		if (square == 0 && (a == a || b == b)) {
			x = copysign((T)__builtin_huge_val(), c) * a;
			y = copysign((T)__builtin_huge_val(), c) * b;
		} else if ((is_infinite(a) || is_infinite(b)) && c - c == 0 && d - d == 0) {
			x = (T)__builtin_huge_val() * (boxed(a) * c + boxed(b) * d);
			y = (T)__builtin_huge_val() * (boxed(b) * c - boxed(a) * d);
		} else if ((is_infinite(c) || is_infinite(d)) && a - a == 0 && b - b == 0) {
			x = 0 * (a * boxed(c) + b * boxed(d));
			y = 0 * (b * boxed(c) - a * boxed(d));
		}
	}
	__real__ z = x;
	__imag__ z = y;
	return z;
}

}

extern "C" {
__device__ __inline__ float _Complex __mulsc3(float a, float b, float c, float d)
{
	return adsm_cuda::complex_product<float, float _Complex>(a, b, c, d);
}
__device__ __inline__ double _Complex __muldc3(double a, double b, double c, double d)
{
	return adsm_cuda::complex_product<double, double _Complex>(a, b, c, d);
}
__device__ __inline__ float _Complex __divsc3(float a, float b, float c, float d)
{
	return adsm_cuda::complex_quotient<float, float _Complex>(a, b, c, d);
}
__device__ __inline__ double _Complex __divdc3(double a, double b, double c, double d)
{
	return adsm_cuda::complex_quotient<double, double _Complex>(a, b, c, d);
}
}

#endif
