/* SPDX-License-Identifier: MIT */
/* host_defines.h - the words of CUDA C that C++ lacks. clang knows them as attributes. */
#ifndef ADSM_CUDA_HOST_DEFINES_H
#define ADSM_CUDA_HOST_DEFINES_H

#if !defined(__clang__) || !defined(__CUDA__)
#error "these headers are for clang with -x cuda: adsmcc runs it"
#endif

/* Programs ask for CUDA C by this macro. */
#ifndef __CUDACC__
#define __CUDACC__ 1
#endif
#define __CUDACC_VER_MAJOR__ 11
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0
#define CUDART_VERSION 11000

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
/* Device memory of the library is memory of the CPU, too. */
#define __managed__ __attribute__((device))
#define __grid_constant__
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __device_builtin__
#define __cudart_builtin__
#define CUDARTAPI
#define CUDART_CB
#define CUDARTAPI_CDECL

/* From clang 15 on __noinline__ is a word of the language. Before, libstdc++ needs care: bits/shared_ptr_base.h. */
#if !__has_feature(cuda_noinline_keyword)
#define __noinline__ __attribute__((noinline))
#endif

/*
 * A function of these headers: for kernels, for kernels and the CPU, for the CPU. A test compiles all of them. For
 * debuggers and messages it is a part of the line that calls it (nodebug).
 */
#ifndef ADSM_CUDA_DEVICE
#define ADSM_CUDA_DEVICE static __inline__ __attribute__((device, always_inline, nothrow, unused, nodebug))
#define ADSM_CUDA_BOTH static __inline__ __attribute__((host, device, always_inline, nothrow, unused, nodebug))
#endif
#define ADSM_CUDA_BOTH_MEMBER __inline__ __attribute__((host, device, always_inline, nothrow, nodebug))
#define ADSM_CUDA_HOST static __inline__ __attribute__((host, always_inline, unused))

/* A statement for kernels, and one for the CPU. */
#ifdef __CUDA_ARCH__
#define ADSM_CUDA_EITHER(device, host) device
#else
#define ADSM_CUDA_EITHER(device, host) host
#endif

#endif
