/* SPDX-License-Identifier: MIT */
/* texture_types.h - the types of textures. */
#ifndef ADSM_CUDA_TEXTURE_TYPES_H
#define ADSM_CUDA_TEXTURE_TYPES_H

#include "driver_types.h"

#endif
