/* SPDX-License-Identifier: MIT */
/* builtin_types.h - the types of CUDA C. */
#ifndef ADSM_CUDA_BUILTIN_TYPES_H
#define ADSM_CUDA_BUILTIN_TYPES_H

#include "driver_types.h"

#endif
