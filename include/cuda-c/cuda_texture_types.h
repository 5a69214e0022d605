/* SPDX-License-Identifier: MIT */
/* cuda_texture_types.h - the types of textures. */
#ifndef ADSM_CUDA_CUDA_TEXTURE_TYPES_H
#define ADSM_CUDA_CUDA_TEXTURE_TYPES_H

#include "driver_types.h"

#endif
