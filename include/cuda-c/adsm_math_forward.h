/* SPDX-License-Identifier: MIT */
/*
 * adsm_math_forward.h - declarations for kernels, before <cmath>. libstdc++'s functions are constexpr, which makes them
 * functions of kernels, too, unless there is one of these already.
 */
#ifndef ADSM_CUDA_MATH_FORWARD_H
#define ADSM_CUDA_MATH_FORWARD_H

#include "adsm_math_names.h"
#include "adsm_system.h"
#include "host_defines.h"

/* Of an integer, as in C++: the function of its double. */
template <typename T> struct adsm_cuda_promoted { };
#define ADSM_CUDA_PROMOTED(type) template <> struct adsm_cuda_promoted<type> { typedef double result; };
ADSM_CUDA_PROMOTED(bool)
ADSM_CUDA_PROMOTED(char)
ADSM_CUDA_PROMOTED(signed char)
ADSM_CUDA_PROMOTED(unsigned char)
ADSM_CUDA_PROMOTED(short)
ADSM_CUDA_PROMOTED(unsigned short)
ADSM_CUDA_PROMOTED(int)
ADSM_CUDA_PROMOTED(unsigned int)
ADSM_CUDA_PROMOTED(long)
ADSM_CUDA_PROMOTED(unsigned long)
ADSM_CUDA_PROMOTED(long long)
ADSM_CUDA_PROMOTED(unsigned long long)
#undef ADSM_CUDA_PROMOTED

#define ADSM_CUDA_FORWARD_1(name) \
	template <typename T> ADSM_CUDA_DEVICE typename adsm_cuda_promoted<T>::result name(T x); \
	ADSM_CUDA_DEVICE double name(double x); \
	ADSM_CUDA_DEVICE float name(float x); \
	ADSM_CUDA_DEVICE float name##f(float x);
#define ADSM_CUDA_FORWARD_2(name) \
	ADSM_CUDA_DEVICE double name(double x, double y); \
	ADSM_CUDA_DEVICE float name(float x, float y); \
	ADSM_CUDA_DEVICE float name##f(float x, float y);

#define ADSM_CUDA_FORWARD(type, f) \
	ADSM_CUDA_DEVICE type fma##f(type x, type y, type z); \
	ADSM_CUDA_DEVICE type frexp##f(type x, int *ret_exponent); \
	ADSM_CUDA_DEVICE type ldexp##f(type x, int n); \
	ADSM_CUDA_DEVICE type modf##f(type x, type *ret_whole); \
	ADSM_CUDA_DEVICE type remquo##f(type x, type y, int *ret_quotient); \
	ADSM_CUDA_DEVICE type scalbn##f(type x, int n); \
	ADSM_CUDA_DEVICE type scalbln##f(type x, long n); \
	ADSM_CUDA_DEVICE int ilogb##f(type x); \
	ADSM_CUDA_DEVICE long lrint##f(type x); \
	ADSM_CUDA_DEVICE long long llrint##f(type x); \
	ADSM_CUDA_DEVICE long lround##f(type x); \
	ADSM_CUDA_DEVICE long long llround##f(type x);

ADSM_CUDA_CALLED_1(ADSM_CUDA_FORWARD_1)
ADSM_CUDA_CALLED_2(ADSM_CUDA_FORWARD_2)
ADSM_CUDA_INLINE_1(ADSM_CUDA_FORWARD_1)
ADSM_CUDA_INLINE_2(ADSM_CUDA_FORWARD_2)
ADSM_CUDA_FORWARD(double, )
ADSM_CUDA_FORWARD(float, )
ADSM_CUDA_FORWARD(float, f)
ADSM_CUDA_DEVICE int abs(int x);
ADSM_CUDA_DEVICE long abs(long x);
ADSM_CUDA_DEVICE long long abs(long long x);
ADSM_CUDA_DEVICE double abs(double x);
ADSM_CUDA_DEVICE float abs(float x);
ADSM_CUDA_DEVICE long labs(long x);
ADSM_CUDA_DEVICE long long llabs(long long x);
ADSM_CUDA_DEVICE double nan(const char *text);
ADSM_CUDA_DEVICE float nanf(const char *text);
ADSM_CUDA_DEVICE double pow(double x, int n);
ADSM_CUDA_DEVICE float pow(float x, int n);

#undef ADSM_CUDA_FORWARD
#undef ADSM_CUDA_FORWARD_1
#undef ADSM_CUDA_FORWARD_2

namespace std {
#define ADSM_CUDA_USING(name) using ::name; using ::name##f;
ADSM_CUDA_CALLED_1(ADSM_CUDA_USING)
ADSM_CUDA_CALLED_2(ADSM_CUDA_USING)
ADSM_CUDA_INLINE_1(ADSM_CUDA_USING)
ADSM_CUDA_INLINE_2(ADSM_CUDA_USING)
ADSM_CUDA_USING(fma)
ADSM_CUDA_USING(frexp)
ADSM_CUDA_USING(ldexp)
ADSM_CUDA_USING(modf)
ADSM_CUDA_USING(remquo)
ADSM_CUDA_USING(scalbn)
ADSM_CUDA_USING(scalbln)
ADSM_CUDA_USING(ilogb)
ADSM_CUDA_USING(lrint)
ADSM_CUDA_USING(llrint)
ADSM_CUDA_USING(lround)
ADSM_CUDA_USING(llround)
ADSM_CUDA_USING(nan)
#undef ADSM_CUDA_USING
using ::abs;
using ::labs;
using ::llabs;
}

#endif
