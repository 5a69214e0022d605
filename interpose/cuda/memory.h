/* SPDX-License-Identifier: MIT */
/* memory.h - device memory that the program allocates by the driver. */
#pragma once

#include "cuda/cu.h"

/* End all objects made of the program's memory in this context. */
void adsm_cuda_forget(CUcontext context);
