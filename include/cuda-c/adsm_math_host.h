/* SPDX-License-Identifier: MIT */
/*
 * adsm_math_host.h - what CUDA C adds to the C library's mathematics: functions for the CPU that the C library lacks,
 * and min() and max() of all types for both.
 */
#ifndef ADSM_CUDA_MATH_HOST_H
#define ADSM_CUDA_MATH_HOST_H

#include "adsm_math_forward.h"

#include <cmath>

ADSM_CUDA_HOST double rsqrt(double x) { return 1 / std::sqrt(x); }
ADSM_CUDA_HOST float rsqrtf(float x) { return 1 / std::sqrt(x); }
ADSM_CUDA_HOST float rsqrt(float x) { return rsqrtf(x); }
ADSM_CUDA_HOST double rcbrt(double x) { return 1 / std::cbrt(x); }
ADSM_CUDA_HOST float rcbrtf(float x) { return 1 / std::cbrt(x); }
/* Since 2.41 glibc has these. */
#if !__GLIBC_PREREQ(2, 41)
ADSM_CUDA_HOST double sinpi(double x) { return std::sin(std::fmod(x, 2.0) * 3.14159265358979323846); }
ADSM_CUDA_HOST float sinpif(float x) { return (float)sinpi((double)x); }
ADSM_CUDA_HOST double cospi(double x) { return std::cos(std::fmod(x, 2.0) * 3.14159265358979323846); }
ADSM_CUDA_HOST float cospif(float x) { return (float)cospi((double)x); }
#endif
ADSM_CUDA_HOST double normcdf(double x) { return std::erfc(x * -0.70710678118654752440) / 2; }
ADSM_CUDA_HOST float normcdff(float x) { return (float)normcdf((double)x); }

/* min() and max(). A pair of two types has the type that C gives to their sum. */
#define ADSM_CUDA_MIN_MAX(a, b, result) \
	ADSM_CUDA_BOTH result min(a x, b y) { return (result)x < (result)y ? (result)x : (result)y; } \
	ADSM_CUDA_BOTH result max(a x, b y) { return (result)x < (result)y ? (result)y : (result)x; }
#define ADSM_CUDA_MIN_MAX_SIGNS(type) \
	ADSM_CUDA_MIN_MAX(type, type, type) \
	ADSM_CUDA_MIN_MAX(unsigned type, unsigned type, unsigned type) \
	ADSM_CUDA_MIN_MAX(type, unsigned type, unsigned type) \
	ADSM_CUDA_MIN_MAX(unsigned type, type, unsigned type)

ADSM_CUDA_MIN_MAX_SIGNS(int)
ADSM_CUDA_MIN_MAX_SIGNS(long)
ADSM_CUDA_MIN_MAX_SIGNS(long long)
#undef ADSM_CUDA_MIN_MAX_SIGNS
#undef ADSM_CUDA_MIN_MAX

/* If one argument is a NaN, the result is the other argument. */
#define ADSM_CUDA_MIN_MAX_REAL(a, b, result, f) \
	ADSM_CUDA_BOTH result min(a x, b y) { return __builtin_fmin##f(x, y); } \
	ADSM_CUDA_BOTH result max(a x, b y) { return __builtin_fmax##f(x, y); }

ADSM_CUDA_MIN_MAX_REAL(float, float, float, f)
ADSM_CUDA_MIN_MAX_REAL(double, double, double, )
ADSM_CUDA_MIN_MAX_REAL(float, double, double, )
ADSM_CUDA_MIN_MAX_REAL(double, float, double, )
#undef ADSM_CUDA_MIN_MAX_REAL

ADSM_CUDA_BOTH unsigned int umin(unsigned int x, unsigned int y) { return min(x, y); }
ADSM_CUDA_BOTH unsigned int umax(unsigned int x, unsigned int y) { return max(x, y); }
ADSM_CUDA_BOTH long long llmin(long long x, long long y) { return min(x, y); }
ADSM_CUDA_BOTH long long llmax(long long x, long long y) { return max(x, y); }
ADSM_CUDA_BOTH unsigned long long ullmin(unsigned long long x, unsigned long long y) { return min(x, y); }
ADSM_CUDA_BOTH unsigned long long ullmax(unsigned long long x, unsigned long long y) { return max(x, y); }

#endif
