/* SPDX-License-Identifier: MIT */
/* sm_30_intrinsics.h - shuffles. */
#ifndef ADSM_CUDA_SM_30_INTRINSICS_H
#define ADSM_CUDA_SM_30_INTRINSICS_H

#include "cuda_runtime.h"

#endif
