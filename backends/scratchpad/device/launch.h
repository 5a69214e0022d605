/* SPDX-License-Identifier: MIT */
/* launch.h - launches of a scratchpad device: their blocks run on cores, and what that has cost is written down. */
#ifndef ADSM_SCRATCHPAD_LAUNCH_H
#define ADSM_SCRATCHPAD_LAUNCH_H

#include "store/core.h"
#include "process/shared.h"

/* Make the cores, and run what comes in the queue. 0 or a negative errno. */
int adsm_launch_start(struct adsm_process_shared *shared, const struct adsm_scratchpad_geometry *geometry,
		      const struct adsm_scratchpad_layout *layout, const struct adsm_scratchpad_task *task,
		      unsigned n_cores, const struct adsm_process_request *hello, void *memory);

#endif
