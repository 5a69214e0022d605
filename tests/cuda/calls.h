/* SPDX-License-Identifier: MIT */
/*
 * calls.h - what the programs of this folder share that use the driver, and do not know the library: the driver's
 * functions, checks of what they return, and a context with the module of ../kernels/conform.c.
 */
#ifndef TEST_CUDA_CALLS_H
#define TEST_CUDA_CALLS_H

#include <stdint.h>

#include "../doubles/cuda/driver.h"

#define DECLARE(name, params) CUresult name params;
ADSM_CU_FUNCTIONS(DECLARE, DECLARE)
TEST_CU_FUNCTIONS(DECLARE)
#undef DECLARE
test_cuda_counts_fn test_cuda_counts;
test_cuda_function_fn test_cuda_function;
test_cuda_copy_fn test_cuda_copy;
test_cuda_read_fn test_cuda_read;

static inline const char *error_name(CUresult error)
{
	const char *name = NULL;

	cuGetErrorName(error, &name);
	return name ? name : "unknown error";
}

#define CHECK_NAME(error) error_name(error)
#include "../check.h"

static const unsigned char module_image[] __attribute__((aligned(64))) = {
#include "module.inc"
};

#define OK(call) CHECK_OK(call)
#define DEVICE(p) ((CUdeviceptr)(uintptr_t)(p))
#define POINTER(p) ((unsigned *)(uintptr_t)(p))

/* For programs that print what every call returned. */
static inline int say(int error, const char *what)
{
	printf("%s: %s\n", what, error ? error_name(error) : "good");
	return error;
}

/* Device 0's own context is this thread's. */
static inline void use_device(CUcontext *ret_context)
{
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(ret_context, 0));
	OK(cuCtxSetCurrent(*ret_context));
}

#endif
