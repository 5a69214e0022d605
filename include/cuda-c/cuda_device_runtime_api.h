/* SPDX-License-Identifier: MIT */
/* cuda_device_runtime_api.h - what kernels may call: kernels do not launch kernels here. */
#ifndef ADSM_CUDA_CUDA_DEVICE_RUNTIME_API_H
#define ADSM_CUDA_CUDA_DEVICE_RUNTIME_API_H

#include "cuda_runtime.h"

#endif
