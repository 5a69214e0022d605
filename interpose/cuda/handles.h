/* SPDX-License-Identifier: MIT */
/* handles.h - finds the parameters of a kernel by the program's handle of it. */
#pragma once

#include "cuda/cu.h"

/* A kernel's parameters. */
struct adsm_cuda_param { size_t offset, size; };
struct adsm_cuda_layout {
	size_t n;
	struct adsm_cuda_param params[];
};
/*
 * The parameters of @function: a CUfunction, or a CUkernel cast to it, as launches permit. The driver is asked once for
 * each handle. NULL: not known. The result is valid until the module or library is unloaded, or the context ends. Takes
 * no lock.
 */
const struct adsm_cuda_layout *adsm_cuda_layout(CUfunction function);
/* The program ends a context, which ends the functions there. */
void adsm_cuda_forget_handles(CUcontext context);
