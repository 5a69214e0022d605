/* SPDX-License-Identifier: MIT */
/* call.h - kernel calls, and calls that stand for commands which the program gives to its driver itself. */
#pragma once

#include "run/call/bind.h"

/* @where: the caller's code address. */
int adsm_call(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmArg *args, size_t n, const void *where);

/* A call, as the program makes it. */
struct adsm_call_args {
	adsmKernel *kernel;
	adsmDim grid, block;
	const adsmArg *args;
	size_t n_args;
};

/* Blocks of a grid, in its order: x fastest. */
struct adsm_interval {
	uint64_t first_block, n_blocks;
};

/* This thread is about to make a call: check the kernel, and find the thread's record. */
int adsm_call_admit(adsmKernel *kernel);
/* Make a call on @home of a part of its grid. Objects of other homes have replicas there, which are wanted; the thread
 * is between adsm_moves_begin() and adsm_moves_end(). */
int adsm_call_part(struct adsm_home *home, const struct adsm_call_args *call, const struct adsm_interval *interval,
		   const void *where);

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
