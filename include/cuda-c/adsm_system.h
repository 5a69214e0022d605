/* SPDX-License-Identifier: MIT */
/* adsm_system.h - printf(), assert(), malloc() and free() of kernels: declarations that clang's <new> needs. */
#ifndef ADSM_CUDA_SYSTEM_H
#define ADSM_CUDA_SYSTEM_H

#include "host_defines.h"

#include <stddef.h>

/*
 * What a device's system offers to kernels: "System Calls" in NVIDIA's manual on the interoperability of PTX. clang
 * makes a call of vprintf() from one of printf().
 */
extern "C" {
__device__ int vprintf(const char *format, const char *values);
__device__ int printf(const char *format, ...);
__device__ void *malloc(size_t size) __attribute__((nothrow, malloc));
__device__ void free(void *p) __attribute__((nothrow));
__device__ void __assertfail(const char *condition, const char *file, unsigned int line, const char *function,
			     size_t character_size) __attribute__((noreturn));

/* Of the C library: clang makes loops of them. */
ADSM_CUDA_DEVICE void *memcpy(void *to, const void *from, size_t size) { return __builtin_memcpy(to, from, size); }
ADSM_CUDA_DEVICE void *memmove(void *to, const void *from, size_t size) { return __builtin_memmove(to, from, size); }
ADSM_CUDA_DEVICE void *memset(void *p, int value, size_t size) { return __builtin_memset(p, value, size); }
ADSM_CUDA_DEVICE int memcmp(const void *a, const void *b, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (((const unsigned char *)a)[i] != ((const unsigned char *)b)[i])
			return ((const unsigned char *)a)[i] < ((const unsigned char *)b)[i] ? -1 : 1;
	return 0;
}
ADSM_CUDA_DEVICE size_t strlen(const char *text)
{
	size_t n = 0;

	while (text[n])
		n++;
	return n;
}

/* The macro assert() of libc calls this. */
__device__ static __inline__ void __assert_fail(const char *condition, const char *file, unsigned int line,
						const char *function)
{
	__assertfail(condition, file, line, function, sizeof(char));
}
}

#endif
