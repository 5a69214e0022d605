/* SPDX-License-Identifier: MIT */
/*
 * shadow.h - the application's side of the execution handler: a thread that serves the commands of a device's kernels,
 * one after the other (shared.h). All cores of a device share it. So it calls one function of the program at a time,
 * printed lines keep their order, and a core that gives no commands costs nothing.
 */
#pragma once

#include "process.h"

/* Start the thread if it does not run yet. Returns 0 or a negative errno. The caller holds request_lock. */
int adsm_process_shadow_start(struct adsm_process_device *device);
/* End the thread after the process has ended. This does not wait for a function of the program. Returns false if one
 * still runs: it uses the shared memory, so the caller leaves that mapped. */
bool adsm_process_shadow_stop(struct adsm_process_device *device);
