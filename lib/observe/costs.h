/* SPDX-License-Identifier: MIT */
/* costs.h - what devices count themselves of launches (struct adsm_cost_ops): added up by kernel, and as events. */
#ifndef ADSM_COSTS_H
#define ADSM_COSTS_H

#include "core/home.h"

#define ADSM_COST_SUMS_MAX 512		/* kernels of a device; of further ones nothing is told */

/* Of one kernel on one device. */
struct adsm_cost_sum {
	char kernel[64];
	struct adsm_kernel_costs costs;
};

/* A device has been opened, while somebody observes. Ordinary threads. */
void adsm_costs_device(int device, struct adsm_device *opened);
/* A launch has ended, having run for @ns. When it began, where the device tells; else 0. Lock held. */
uint64_t adsm_costs_take(struct adsm_home *home, const struct adsm_call *call, uint64_t ns);
/* Sums begin again at 0. */
void adsm_costs_reset(void);
/* No device is known any more. */
void adsm_costs_forget(void);
/* A copy of a device's sums, to be freed: how many. *ret_sums NULL: none, or no memory. */
size_t adsm_costs_copy(int device, struct adsm_cost_sum **ret_sums);

#endif
