/* SPDX-License-Identifier: MIT */
/* others.h - device memory that other processes or devices can access. */
#pragma once

#include <stdbool.h>

#include "cuda/cu.h"

/* May other contexts' kernels use the memory of this one? */
bool adsm_cuda_context_is_open(CUcontext context);
/* May other devices or the host access new memory of the pool? @pool: NULL is the device's current pool. */
bool adsm_cuda_pool_is_open(CUmemoryPool pool, CUdevice device);
