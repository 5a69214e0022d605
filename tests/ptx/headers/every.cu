/* SPDX-License-Identifier: MIT */
/* every.cu - every function of the headers for kernels, compiled as a function of its own. */
#include <cuComplex.h>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_profiler_api.h>
#include <curand_kernel.h>
#include <math_constants.h>

__global__ void every(float *p)
{
	*p = CUDART_PI_F;
}
