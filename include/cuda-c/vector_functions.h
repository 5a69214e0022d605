/* SPDX-License-Identifier: MIT */
/* vector_functions.h - make_char1() to make_double4(). */
#ifndef ADSM_CUDA_VECTOR_FUNCTIONS_H
#define ADSM_CUDA_VECTOR_FUNCTIONS_H

#include "vector_types.h"

#define ADSM_CUDA_MAKE(type, name) \
	ADSM_CUDA_BOTH name##1 make_##name##1(type x) { return name##1{ x }; } \
	ADSM_CUDA_BOTH name##2 make_##name##2(type x, type y) { return name##2{ x, y }; } \
	ADSM_CUDA_BOTH name##3 make_##name##3(type x, type y, type z) { return name##3{ x, y, z }; } \
	ADSM_CUDA_BOTH name##4 make_##name##4(type x, type y, type z, type w) { return name##4{ x, y, z, w }; }

ADSM_CUDA_MAKE(signed char, char)
ADSM_CUDA_MAKE(unsigned char, uchar)
ADSM_CUDA_MAKE(short, short)
ADSM_CUDA_MAKE(unsigned short, ushort)
ADSM_CUDA_MAKE(int, int)
ADSM_CUDA_MAKE(unsigned int, uint)
ADSM_CUDA_MAKE(long, long)
ADSM_CUDA_MAKE(unsigned long, ulong)
ADSM_CUDA_MAKE(long long, longlong)
ADSM_CUDA_MAKE(unsigned long long, ulonglong)
ADSM_CUDA_MAKE(float, float)
ADSM_CUDA_MAKE(double, double)
#undef ADSM_CUDA_MAKE

#endif
