/* SPDX-License-Identifier: MIT */
/* sm_61_intrinsics.h - sums of products of bytes. */
#ifndef ADSM_CUDA_SM_61_INTRINSICS_H
#define ADSM_CUDA_SM_61_INTRINSICS_H

#include "cuda_runtime.h"

#endif
