/* SPDX-License-Identifier: MIT */
/* device_types.h - the types of CUDA C. */
#ifndef ADSM_CUDA_DEVICE_TYPES_H
#define ADSM_CUDA_DEVICE_TYPES_H

#include "driver_types.h"

#endif
