/* SPDX-License-Identifier: MIT */
/* cuda/code.h - structures of kernels and modules. */
#pragma once

#include "device.h"
#include "driven_code.h"

struct adsm_cuda_entry {
	struct adsm_driven_entry base;
	CUfunction function;		/* NULL: the kernel does nothing */
	const struct adsm_kernel_info *kernel;	/* of a kernel in CUDA C; else NULL */
};

struct adsm_cuda_code {
	struct adsm_driven_code base;
	CUmodule module;		/* NULL: an adopted kernel, or one that does nothing */
	CUfunction adopted;
	struct adsm_module_info *info;	/* of a module in CUDA C; else NULL */
	struct adsm_cuda_variable *variables;	/* the driver's memory of its variables, info->n_symbols (variable.c) */
	struct adsm_cuda_constants *constants;	/* of launches (launch.c), with the device's constants_lock */
};
