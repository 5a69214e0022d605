/* SPDX-License-Identifier: MIT */
/*
 * device/handler.h - the execution handler in a device process: what kernels ask while they run. Chunks of loops and
 * memory are the device's own; services and prints go to the application's thread, by the command buffers (shared.h).
 */
#ifndef ADSM_PROCESS_DEVICE_HANDLER_H
#define ADSM_PROCESS_DEVICE_HANDLER_H

#include "adsm_kernel.h"
#include "process/shared.h"

/* At the start; before that, or without, kernels have no services. */
void adsm_handler_start(struct adsm_process_shared *shared);
/* Around each launch: nothing else runs then. */
void adsm_handler_begin(const char *kernel);
/* What the launch allocated is gone. 0, or the error of what it must not have asked, and its sentence. */
int adsm_handler_end(char ret_text[ADSM_PROCESS_TEXT]);
/* How many commands this thread has given so far. */
uint64_t adsm_handler_commands(void);

#endif
