/* SPDX-License-Identifier: MIT */
/* handles.h - what parameters the kernels have that the program's handles mean. */
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
 * Of what a launch is given, a CUfunction or a CUkernel; the driver is asked once. NULL: nobody knows. Valid until its
 * module or library is unloaded, or its context ends. Takes no lock.
 */
const struct adsm_cuda_layout *adsm_cuda_layout(CUfunction function);
/* The program ends a context, and with it the functions there. */
void adsm_cuda_forget_handles(CUcontext context);

#endif
