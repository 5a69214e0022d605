/* SPDX-License-Identifier: MIT */
/* launch.h - launches of a scratchpad device: runs their blocks on cores, and records the costs. */
#pragma once

#include "store/core.h"
#include "process/shared.h"

/* Make the cores, and run the launches of the queue. Returns 0 or a negative errno. */
int adsm_launch_start(struct adsm_process_shared *shared, const struct adsm_scratchpad_geometry *geometry,
		      const struct adsm_scratchpad_layout *layout, const struct adsm_scratchpad_task *task,
		      unsigned n_cores, const struct adsm_process_request *hello, void *memory);
