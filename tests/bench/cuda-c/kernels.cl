/* SPDX-License-Identifier: MIT */
/* kernels.cl - the kernels of kernels.h in OpenCL C. */
#define KERNEL(name, params) __kernel void name params
#define DEVICE static
#define GLOBAL __global
#define SHARED(type, name, n) __local type name[n]
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define LOCAL_X ((int)get_local_id(0))
#define LOCAL_Y ((int)get_local_id(1))
#define BLOCK_X ((int)get_group_id(0))
#define BLOCK_Y ((int)get_group_id(1))
#define GLOBAL_X ((int)get_global_id(0))
#define GLOBAL_Y ((int)get_global_id(1))
#define ADD_SHARED(p, v) atomic_add(p, v)
#define ADD_GLOBAL(p, v) atomic_add(p, v)
#define FABS fabs
#define EXP exp
#define LOG log
#define SQRT sqrt
#define SIN sin
#define COS cos
#include "kernels.h"
