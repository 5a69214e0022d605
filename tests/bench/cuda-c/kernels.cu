/* SPDX-License-Identifier: MIT */
/* kernels.cu - the kernels of kernels.h in CUDA C. */
#define KERNEL(name, params) extern "C" __global__ void name params
#define DEVICE static __device__
#define GLOBAL
#define SHARED(type, name, n) __shared__ type name[n]
#define BARRIER __syncthreads()
#define LOCAL_X ((int)threadIdx.x)
#define LOCAL_Y ((int)threadIdx.y)
#define BLOCK_X ((int)blockIdx.x)
#define BLOCK_Y ((int)blockIdx.y)
#define GLOBAL_X ((int)(blockIdx.x * blockDim.x + threadIdx.x))
#define GLOBAL_Y ((int)(blockIdx.y * blockDim.y + threadIdx.y))
#define ADD_SHARED(p, v) atomicAdd(p, v)
#define ADD_GLOBAL(p, v) atomicAdd(p, v)
#define FABS fabsf
#define EXP expf
#define LOG logf
#define SQRT sqrtf
#define SIN sinf
#define COS cosf
#include "kernels.h"
