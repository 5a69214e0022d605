/* SPDX-License-Identifier: MIT */
/* sm_20_atomic_functions.h - atomics on floats. */
#ifndef ADSM_CUDA_SM_20_ATOMIC_FUNCTIONS_H
#define ADSM_CUDA_SM_20_ATOMIC_FUNCTIONS_H

#include "cuda_runtime.h"

#endif
