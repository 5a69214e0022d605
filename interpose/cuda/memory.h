/* SPDX-License-Identifier: MIT */
/* memory.h - the program's own device memory. */
#ifndef ADSM_CUDA_MEMORY_H
#define ADSM_CUDA_MEMORY_H

#include "cuda/cu.h"

/* Objects of the program's memory in this context end. */
void adsm_cuda_forget(CUcontext context);

#endif
