/* SPDX-License-Identifier: MIT */
/* sm_32_intrinsics.h - loads through caches. */
#ifndef ADSM_CUDA_SM_32_INTRINSICS_H
#define ADSM_CUDA_SM_32_INTRINSICS_H

#include "cuda_runtime.h"

#endif
