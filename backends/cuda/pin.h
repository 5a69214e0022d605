/* SPDX-License-Identifier: MIT */
/* pin.h - pins the alias of objects. */
#pragma once

#include "address.h"

/* States of an object's pages: not pinned so far; in the list or being pinned; pinned; never to be pinned. */
enum { ADSM_CUDA_PIN_NOT, ADSM_CUDA_PIN_WANTED, ADSM_CUDA_PINNED, ADSM_CUDA_PIN_NEVER };

/* @size more bytes of the object have been copied. */
void adsm_cuda_moved(struct adsm_cuda_device *device, struct adsm_cuda_mem *memory, size_t size);
/* No thread copies the object any more. */
CUresult adsm_cuda_unpin(struct adsm_cuda_device *device, struct adsm_cuda_mem *memory);
void adsm_cuda_pinner_end(struct adsm_cuda_device *device);
