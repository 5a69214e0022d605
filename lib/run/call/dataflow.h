/* SPDX-License-Identifier: MIT */
/*
 * dataflow.h - calls with units of write-once objects as input and output (adsmOnceCall()), of kernels that do not know
 * such objects, on any device. Each call begins when the units that it reads are set, and it sets other units when it
 * has ended. Three threads for each device begin them in the order of entry: while one call computes, the input of the
 * next is copied, and the results of the previous one are brought back.
 */
#pragma once

#include "adsm_once.h"
#include "once/once.h"

/* Enter a call on the calling thread's device. @where: the caller's code address. */
int adsm_dataflow_call(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmArg *args, size_t n,
		       const void *where);
/* End the threads when the library stops. There are no calls. */
void adsm_dataflow_stop(void);
