/* SPDX-License-Identifier: MIT */
/* call.h - kernel calls, and those that the program gives to its driver itself. */
#ifndef ADSM_CALL_H
#define ADSM_CALL_H

#include "run/bind.h"

/* @where: code address of who asks. */
int adsm_call(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmArg *args, size_t n, const void *where);

/* A grid and its blocks, as far as the kernel and the device allow them. */
int adsm_call_check(const struct adsm_kernel_info *info, const struct adsm_home *home, adsmDim grid, adsmDim block,
		    struct adsm_launch *launch);

/*
 * Has the device begin something, with its home's lock held. 0 with its event (seq 0: nobody can know when it ends),
 * or 1 or a negative errno: it has not begun. @ret_event NULL: nobody asks for that yet (gather.h).
 */
typedef int adsm_starter(void *arg, struct adsm_device_event *ret_event);

/*
 * A call that the program makes itself, by @start, on @queue: returns what that does, or a negative errno before it.
 * @gather: it may be one with others.
 */
int adsm_call_commands(struct adsm_home *home, const struct adsm_driver_use *uses, size_t n, adsm_starter *start,
		       void *arg, void *queue, bool gather);

#endif
