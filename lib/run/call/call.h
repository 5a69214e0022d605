/* SPDX-License-Identifier: MIT */
/* call.h - kernel calls, and calls that stand for commands which the program gives to its driver itself. */
#pragma once

#include "run/call/bind.h"

/* @where: the caller's code address. */
int adsm_call(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmArg *args, size_t n, const void *where);

/* Check the grid and the blocks against the limits of the kernel and of the device, and fill in @launch. */
int adsm_call_check(const struct adsm_kernel_info *info, const struct adsm_home *home, adsmDim grid, adsmDim block,
		    struct adsm_launch *launch);

/*
 * A function that has the device begin something, with its home's lock held. Returns 0 and the device's event (seq 0:
 * its end is never known). Returns 1 or a negative errno if nothing has begun. @ret_event is NULL if no event is needed
 * yet (coalesced.h).
 */
typedef int adsm_starter(void *arg, struct adsm_device_event *ret_event);

/*
 * Make a call of commands that @start gives to the program's @queue. Returns the result of @start, or a negative errno
 * if @start was not called. @coalesce: the commands may become part of one call with others.
 */
int adsm_call_commands(struct adsm_home *home, const struct adsm_driver_use *uses, size_t n, adsm_starter *start,
		       void *arg, void *queue, bool coalesce);
