/* SPDX-License-Identifier: MIT */
/*
 * surface_functions.h - stores to surface objects and loads from them: coordinates in x are bytes. Only GPUs can do
 * this: other devices refuse kernels with it.
 */
#ifndef ADSM_CUDA_SURFACE_FUNCTIONS_H
#define ADSM_CUDA_SURFACE_FUNCTIONS_H

#include "driver_types.h"

enum cudaSurfaceBoundaryMode {
	cudaBoundaryModeZero, cudaBoundaryModeClamp, cudaBoundaryModeTrap
};

/* The mode is a part of the instruction. */
#define ADSM_CUDA_SURFACE_MODE(instruction, rest, ...) \
	if (mode == cudaBoundaryModeZero) \
		__asm__ __volatile__(instruction ".zero" rest __VA_ARGS__); \
	else if (mode == cudaBoundaryModeClamp) \
		__asm__ __volatile__(instruction ".clamp" rest __VA_ARGS__); \
	else \
		__asm__ __volatile__(instruction ".trap" rest __VA_ARGS__)
/* Pieces of one, two and four bytes. */
#define ADSM_CUDA_SURFACE_PIECE(name, shape, type, letter, bits, place, ...) \
	static __device__ __inline__ void store_##name(cudaSurfaceObject_t surface, type v, int x, int y, int z, \
						       cudaSurfaceBoundaryMode mode) \
	{ \
		ADSM_CUDA_SURFACE_MODE("sust.b." shape "." bits, " [%0, " place "], {%1};", \
				       : : "l"(surface), letter(v), __VA_ARGS__ : "memory"); \
	} \
	static __device__ __inline__ void load_##name(cudaSurfaceObject_t surface, type &v, int x, int y, int z, \
						      cudaSurfaceBoundaryMode mode) \
	{ \
		ADSM_CUDA_SURFACE_MODE("suld.b." shape "." bits, " {%0}, [%1, " place "];", \
				       : "=" letter(v) : "l"(surface), __VA_ARGS__ : "memory"); \
	}
#define ADSM_CUDA_SURFACE(name, parameters, arguments, shape, place, ...) \
	namespace adsm_cuda { \
	ADSM_CUDA_SURFACE_PIECE(name##_1, shape, unsigned short, "h", "b8", place, __VA_ARGS__) \
	ADSM_CUDA_SURFACE_PIECE(name##_2, shape, unsigned short, "h", "b16", place, __VA_ARGS__) \
	ADSM_CUDA_SURFACE_PIECE(name##_4, shape, unsigned int, "r", "b32", place, __VA_ARGS__) \
	} \
	template <typename T> \
	static __device__ __inline__ void surf##name##write(T value, cudaSurfaceObject_t surface, \
							    ADSM_CUDA_LIST parameters, \
							    cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) \
	{ \
		if (sizeof(T) == 1) \
			adsm_cuda::store_##name##_1(surface, *(unsigned char *)&value, ADSM_CUDA_LIST arguments, \
						    mode); \
		else if (sizeof(T) == 2) \
			adsm_cuda::store_##name##_2(surface, *(unsigned short *)&value, ADSM_CUDA_LIST arguments, \
						    mode); \
		else \
			for (unsigned int i = 0; i < sizeof(T) / 4; i++, x += 4) \
				adsm_cuda::store_##name##_4(surface, ((unsigned int *)&value)[i], \
							    ADSM_CUDA_LIST arguments, mode); \
	} \
	template <typename T> \
	static __device__ __inline__ void surf##name##read(T *ret_value, cudaSurfaceObject_t surface, \
							   ADSM_CUDA_LIST parameters, \
							   cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) \
	{ \
		unsigned short piece; \
		\
		if (sizeof(T) == 1) { \
			adsm_cuda::load_##name##_1(surface, piece, ADSM_CUDA_LIST arguments, mode); \
			*(unsigned char *)ret_value = (unsigned char)piece; \
		} else if (sizeof(T) == 2) { \
			adsm_cuda::load_##name##_2(surface, piece, ADSM_CUDA_LIST arguments, mode); \
			*(unsigned short *)ret_value = piece; \
		} else { \
			for (unsigned int i = 0; i < sizeof(T) / 4; i++, x += 4) \
				adsm_cuda::load_##name##_4(surface, ((unsigned int *)ret_value)[i], \
							   ADSM_CUDA_LIST arguments, mode); \
		} \
	} \
	template <typename T> \
	static __device__ __inline__ T surf##name##read(cudaSurfaceObject_t surface, ADSM_CUDA_LIST parameters, \
							cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) \
	{ \
		T value; \
		\
		surf##name##read(&value, surface, ADSM_CUDA_LIST_##name, mode); \
		return value; \
	}
#define ADSM_CUDA_LIST(...) __VA_ARGS__
#define ADSM_CUDA_LIST_1D x
#define ADSM_CUDA_LIST_2D x, y
#define ADSM_CUDA_LIST_3D x, y, z
#define ADSM_CUDA_LIST_2DLayered x, y, z

ADSM_CUDA_SURFACE(1D, (int x), (x, 0, 0), "1d", "{%2}", "r"(x))
ADSM_CUDA_SURFACE(2D, (int x, int y), (x, y, 0), "2d", "{%2, %3}", "r"(x), "r"(y))
ADSM_CUDA_SURFACE(3D, (int x, int y, int z), (x, y, z), "3d", "{%2, %3, %4, %4}", "r"(x), "r"(y), "r"(z))
ADSM_CUDA_SURFACE(2DLayered, (int x, int y, int z), (x, y, z), "a2d", "{%4, %2, %3, %3}", "r"(x), "r"(y), "r"(z))
#undef ADSM_CUDA_LIST
#undef ADSM_CUDA_LIST_1D
#undef ADSM_CUDA_LIST_2D
#undef ADSM_CUDA_LIST_3D
#undef ADSM_CUDA_LIST_2DLayered
#undef ADSM_CUDA_SURFACE
#undef ADSM_CUDA_SURFACE_PIECE
#undef ADSM_CUDA_SURFACE_MODE

#endif
