/* SPDX-License-Identifier: MIT */
/*
 * plan.h - what the wrapper does to operations. The plan's words, separated by commas:
 *
 *	trace		log each operation with its arguments and result
 *	fail=N		every Nth operation fails before it is done: -ENOMEM from alloc, else -EIO
 *	random		each with a chance of one in N: so no number of operations fails each time that it is tried
 *	once		only the first of them
 *	lost=N		after N operations the device is lost: -ENODEV from everything
 *	delay=T		each operation comes late by a random time up to T (ns, us, ms, s)
 *	ops=A+B		which operations the words above count and meet; all by default
 *	seed=N		shifts or draws which operations fail, and chooses the delays
 *	unsafe		no operation may be called in the fault handler, and is reported when it is
 */
#ifndef ADSM_WRAP_PLAN_H
#define ADSM_WRAP_PLAN_H

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

/* Read the plan, and begin to count. -EINVAL with adsm_fail(). */
int adsm_wrap_plan_set(const char *text);

/*
 * Count the operation, and delay it where the plan says so: 0 to go on, or the error that it fails with. Says nothing
 * by adsm_fail(), which the fault handler may not call.
 */
int adsm_wrap_step(enum adsm_wrap_op op);
/* The same where the sentence may be kept. */
int adsm_wrap_step_or_fail(enum adsm_wrap_op op);
bool adsm_wrap_is_lost(void);

#endif
