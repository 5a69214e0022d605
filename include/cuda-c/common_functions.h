/* SPDX-License-Identifier: MIT */
/* common_functions.h - what cuda_runtime.h has. */
#ifndef ADSM_CUDA_COMMON_FUNCTIONS_H
#define ADSM_CUDA_COMMON_FUNCTIONS_H

#include "cuda_runtime.h"

#endif
