/* SPDX-License-Identifier: MIT */
/*
 * plan.h - what the wrapper does to operations. The plan's words, separated by commas:
 *
 *	trace		log each operation with its arguments and result
 *	fail=N		every Nth operation fails before it is done: -ENOMEM from alloc, else -EIO
 *	random		with fail: each operation fails with a probability of 1/N, so that every retry may succeed
 *	once		with fail: only the first failure
 *	lost=N		after N operations the device is lost: -ENODEV from everything
 *	delay=T		each operation is delayed by a random time up to T (ns, us, ms, s)
 *	ops=A+B		the operations that the words above count and affect; all by default
 *	seed=N		shifts or draws which operations fail, and chooses the delays
 *	unsafe		the device is not signal_safe; operations in the fault handler are reported
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum adsm_wrap_op {
	OP_ALLOC, OP_TO_DEVICE, OP_TO_HOST, OP_COPY, OP_FILL, OP_LAUNCH, OP_WAIT, OP_QUERY,
	OP_MODULE_LOAD, N_OPS
};

struct adsm_wrap_plan {
	bool trace, random, once, unsafe;
	unsigned ops;		/* a bit for each enum adsm_wrap_op */
	uint64_t seed, fail, lost, delay_ns;
};

extern struct adsm_wrap_plan adsm_wrap_plan;

/* Parse the plan, and reset the counts. Returns 0, or -EINVAL with adsm_fail(). */
int adsm_wrap_plan_set(const char *text);

/* Count the operation, and delay it if the plan requires that. Returns 0, or the error that the operation fails with.
 * Does not call adsm_fail(), which is not allowed in the fault handler. */
int adsm_wrap_step(enum adsm_wrap_op op);
/* The same with adsm_fail(). */
int adsm_wrap_step_or_fail(enum adsm_wrap_op op);
bool adsm_wrap_is_lost(void);
