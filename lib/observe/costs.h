/* SPDX-License-Identifier: MIT */
/* costs.h - costs that devices count for each launch (struct adsm_cost_ops): their sums by kernel, and trace events. */
#pragma once

#include "core/observe.h"

#define ADSM_COST_SUMS_MAX 512		/* kernels of a device; further ones are not counted */

/* The costs of one kernel on one device. */
struct adsm_cost_sum {
	char kernel[64];
	struct adsm_kernel_costs costs;
};

/* Note a device that was opened while the library observes. Not in signal handlers. */
void adsm_costs_device(int device, struct adsm_device *opened);
/* Add the costs of a launch that has ended. Returns when it began, or 0 if the device does not report
 * that. Lock held. */
uint64_t adsm_costs_take(struct adsm_home *home, const struct adsm_kernel_run *run);
/* Of one lane of a device: calls that have ended, and how long they ran. */
struct adsm_lane_sum { uint64_t calls, kernel_ns; };
/* Get the sums of all lanes of a device. */
void adsm_costs_lanes(int device, struct adsm_lane_sum ret_sums[ADSM_LANES_MAX]);
/* Set the sums to 0. */
void adsm_costs_reset(void);
/* Forget all devices. */
void adsm_costs_forget(void);
/* Copy a device's sums; the caller frees the copy. Returns their number. *ret_sums is NULL if there are none, or no
 * memory. */
size_t adsm_costs_copy(int device, struct adsm_cost_sum **ret_sums);
