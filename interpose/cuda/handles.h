/* SPDX-License-Identifier: MIT */
/* handles.h - the parameters of kernels, by the program's handles of them. */
#ifndef ADSM_CUDA_HANDLES_H
#define ADSM_CUDA_HANDLES_H

#include "cuda/cu.h"

/* A kernel's parameters. */
struct adsm_cuda_param { size_t offset, size; };
struct adsm_cuda_layout {
	size_t n;
	struct adsm_cuda_param params[];
};
/*
 * @function: a CUfunction, or a CUkernel as launches take it; the driver is asked once. NULL: nobody knows. Valid until
 * its module or library is unloaded, or its context ends. Takes no lock.
 */
const struct adsm_cuda_layout *adsm_cuda_layout(CUfunction function);
/* The program ends a context, and with that the functions there. */
void adsm_cuda_forget_handles(CUcontext context);

#endif
