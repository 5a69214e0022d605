/* SPDX-License-Identifier: MIT */
/* sm_60_atomic_functions.h - atomics on doubles, and of scopes. */
#ifndef ADSM_CUDA_SM_60_ATOMIC_FUNCTIONS_H
#define ADSM_CUDA_SM_60_ATOMIC_FUNCTIONS_H

#include "cuda_runtime.h"

#endif
