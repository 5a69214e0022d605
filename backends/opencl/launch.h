/* SPDX-License-Identifier: MIT */
/* launch.h - launches. */
#ifndef ADSM_OPENCL_LAUNCH_H
#define ADSM_OPENCL_LAUNCH_H

#include "backend.h"

int adsm_cl_launch(struct adsm_entry *entry, const struct adsm_launch *launch, struct adsm_device_event *ret_event);

#endif
