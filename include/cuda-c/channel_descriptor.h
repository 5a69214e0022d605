/* SPDX-License-Identifier: MIT */
/* channel_descriptor.h - formats of the elements of textures. */
#ifndef ADSM_CUDA_CHANNEL_DESCRIPTOR_H
#define ADSM_CUDA_CHANNEL_DESCRIPTOR_H

#include "cuda_runtime.h"

#endif
