/* SPDX-License-Identifier: MIT */
/*
 * later.h - calls of kernels that know nothing of write-once objects, on any device: each begins when the units that it
 * reads are set, and sets others when it has ended. Three threads of each device's begin them, in the order of entry:
 * while one call computes, the next one's input is copied, and what the one before has made is brought back.
 */
#ifndef ADSM_LATER_H
#define ADSM_LATER_H

#include "adsm_once.h"
#include "once/once.h"

/* On the calling thread's device. @where: code address of who asks. */
int adsm_later_call(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmArg *args, size_t n, const void *where);
/* The library stops, and there are no calls. */
void adsm_later_stop(void);

#endif
