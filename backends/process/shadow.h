/* SPDX-License-Identifier: MIT */
/*
 * shadow.h - the application's side of the execution handler: a thread that serves the commands of a device's kernels,
 * one after the other (shared.h). There is one for all cores of a device: so functions of the program's are called by
 * one of them at a time, lines keep their order, and a core that asks for nothing costs nothing.
 */
#ifndef ADSM_PROCESS_SHADOW_H
#define ADSM_PROCESS_SHADOW_H

#include "process.h"

/* Begin to serve, unless the thread is there: 0 or a negative errno. Under request_lock. */
int adsm_process_shadow_start(struct adsm_process_device *device);
/*
 * The process has ended. Waits for no function of the program's: one that still runs has the shared memory as long as
 * it does. False: so it does, and the caller leaves it mapped.
 */
bool adsm_process_shadow_stop(struct adsm_process_device *device);

#endif
