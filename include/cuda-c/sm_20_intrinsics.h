/* SPDX-License-Identifier: MIT */
/* sm_20_intrinsics.h - what cuda_runtime.h has. */
#ifndef ADSM_CUDA_SM_20_INTRINSICS_H
#define ADSM_CUDA_SM_20_INTRINSICS_H

#include "cuda_runtime.h"

#endif
