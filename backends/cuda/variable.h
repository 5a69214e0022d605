/* SPDX-License-Identifier: MIT */
/*
 * cuda/variable.h - the variables of modules in CUDA C. The library has an object for each variable, and the driver has
 * memory of its own for it. A launch copies the object there before the kernel, and back after it.
 */
#pragma once

#include "code.h"

/* Find the driver's memory of all variables of code->info. Call this in the device's context. */
CUresult adsm_cuda_variables_find(struct adsm_cuda_code *code);
/* Copy the variables of a launch to the driver's memory (before), or what the kernel may have written back. */
CUresult adsm_cuda_variables_copy(const struct adsm_cuda_entry *entry, const struct adsm_launch *launch, bool before,
				  CUstream stream);
