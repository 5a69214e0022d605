/* SPDX-License-Identifier: MIT */
/* others.h - device memory that others get at. */
#ifndef ADSM_CUDA_OTHERS_H
#define ADSM_CUDA_OTHERS_H

#include <stdbool.h>

#include "cuda/cu.h"

/* May other contexts' kernels use the memory of this one? */
bool adsm_cuda_context_is_open(CUcontext context);
/* May others than the device use what is allocated in the pool now? @pool: NULL: the one that the device has. */
bool adsm_cuda_pool_is_open(CUmemoryPool pool, CUdevice device);

#endif
