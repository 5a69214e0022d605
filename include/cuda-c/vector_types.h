/* SPDX-License-Identifier: MIT */
/* vector_types.h - char1 to double4, and dim3: sizes and alignments as in the tables of the CUDA C++ manual. */
#ifndef ADSM_CUDA_VECTOR_TYPES_H
#define ADSM_CUDA_VECTOR_TYPES_H

#include "host_defines.h"

/* @name1 to @name4 of elements of type @type. @two, @four: the alignment of vectors of two and four, in bytes. */
#define ADSM_CUDA_VECTORS(type, name, two, four) \
	struct name##1 { type x; }; \
	struct __attribute__((aligned(two))) name##2 { type x, y; }; \
	struct name##3 { type x, y, z; }; \
	struct __attribute__((aligned(four))) name##4 { type x, y, z, w; }; \
	typedef struct name##1 name##1; \
	typedef struct name##2 name##2; \
	typedef struct name##3 name##3; \
	typedef struct name##4 name##4;

ADSM_CUDA_VECTORS(signed char, char, 2, 4)
ADSM_CUDA_VECTORS(unsigned char, uchar, 2, 4)
ADSM_CUDA_VECTORS(short, short, 4, 8)
ADSM_CUDA_VECTORS(unsigned short, ushort, 4, 8)
ADSM_CUDA_VECTORS(int, int, 8, 16)
ADSM_CUDA_VECTORS(unsigned int, uint, 8, 16)
ADSM_CUDA_VECTORS(long, long, 16, 16)
ADSM_CUDA_VECTORS(unsigned long, ulong, 16, 16)
ADSM_CUDA_VECTORS(long long, longlong, 16, 16)
ADSM_CUDA_VECTORS(unsigned long long, ulonglong, 16, 16)
ADSM_CUDA_VECTORS(float, float, 8, 16)
ADSM_CUDA_VECTORS(double, double, 16, 16)

/* The size of a grid in blocks, or of a block in threads. */
struct dim3 {
	unsigned int x, y, z;
	__host__ __device__ constexpr dim3(unsigned int nx = 1, unsigned int ny = 1, unsigned int nz = 1) :
		x(nx), y(ny), z(nz) { }
	__host__ __device__ constexpr dim3(uint3 n) : x(n.x), y(n.y), z(n.z) { }
	/* Of threadIdx and the like. */
	template <typename T, typename T::adsm_cuda_index = 0>
	__device__ dim3(const T &n) : x(n.x), y(n.y), z(n.z) { }
	__host__ __device__ constexpr operator uint3() const { return uint3{ x, y, z }; }
};
typedef struct dim3 dim3;

#endif
