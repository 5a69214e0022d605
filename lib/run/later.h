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
/* -EBUSY, with the sentence: a call that has not begun reads a unit of the object that is not set. */
int adsm_later_check(const struct adsm_once_object *object);
/* Until no call has the object. No lock held. */
void adsm_later_wait(const struct adsm_once_object *object);
/* Until no call is of the module's kernels; -EBUSY where one might wait for ever. */
int adsm_later_leave(const adsmModule *module);
/* The library stops, and there are no calls. */
void adsm_later_stop(void);

#endif
