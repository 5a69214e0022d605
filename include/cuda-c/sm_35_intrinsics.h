/* SPDX-License-Identifier: MIT */
/* sm_35_intrinsics.h - loads through caches. */
#ifndef ADSM_CUDA_SM_35_INTRINSICS_H
#define ADSM_CUDA_SM_35_INTRINSICS_H

#include "cuda_runtime.h"

#endif
