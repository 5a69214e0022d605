/* SPDX-License-Identifier: MIT */
/* bench_cuda.h - for what is written by hand on CUDA's driver: the context of device 0, which is the library's too. */
#ifndef BENCH_CUDA_H
#define BENCH_CUDA_H

#include "bench.h"
#include "cuda/cu.h"

static inline void bench_cu_check(CUresult error, const char *function)
{
	if (error)
		bench_die("%s: %s", function, adsm_cu_error_name(error));
}
#define CU(function, ...) bench_cu_check(adsm_cu.function(__VA_ARGS__), #function)

static inline CUcontext bench_cu_context(void)
{
	CUcontext context;
	CUdevice device;

	CU(cuDeviceGet, &device, 0);
	CU(cuDevicePrimaryCtxRetain, &context, device);
	return context;
}

#endif
