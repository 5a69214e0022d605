/* SPDX-License-Identifier: MIT */
/*
 * device/once.h - write-once objects in a device process: mapped where the application says, and given to kernels,
 * whose threads wait for units as the application's do.
 */
#ifndef ADSM_PROCESS_DEVICE_ONCE_H
#define ADSM_PROCESS_DEVICE_ONCE_H

#include "process/device/pool.h"

/* Device memory, whose file is the callee's from here on: what was mapped over it comes back. */
void adsm_device_once_start(int memory_fd, uint64_t base, struct adsm_process_shared *shared);
/* One of the ADSM_PROCESS_ONCE_… requests; takes the descriptor. */
int adsm_device_once_answer(const struct adsm_process_request *request, int fd);
/* What a kernel is given for an address: the object; or, for any other, one that has no units. */
const struct adsm_kernel_once *adsm_device_once_find(uint64_t address);

#endif
