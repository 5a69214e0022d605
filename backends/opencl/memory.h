/* SPDX-License-Identifier: MIT */
/* memory.h - memory of a device, and copies. */
#pragma once

#include "device.h"

int adsm_cl_alloc(struct adsm_device *device, size_t size, uint64_t wanted, struct adsm_memory **ret_memory);
void adsm_cl_free(struct adsm_memory *memory);
/* Return kept memory to the driver. */
void adsm_cl_release_kept(struct adsm_cl_device *device);
/* The same for memory that the program freed after the device was lost, and for the device's own. The driver has
 * reported the end of all launches. */
void adsm_cl_release_left(struct adsm_cl_device *device);
uint64_t adsm_cl_memory_free(struct adsm_device *device);
int adsm_cl_run(struct adsm_device *device, const struct adsm_driven_operation *o, struct adsm_device_event *ret_event);
int adsm_cl_native_memory(struct adsm_memory *memory, void **ret_handle);
/* Wait for all deferred operations. If one has failed, the device is lost. Signals are blocked. */
int adsm_cl_settle_deferred(struct adsm_cl_device *device);
/* For a command that will be enqueued: returns the deferred operation that it must wait for, or NULL. It stays until
 * it is given back by the next function. @ended: the caller has waited for it. If one has failed, the device is lost
 * now. */
struct adsm_cl_deferred *adsm_cl_deferred_use(struct adsm_cl_device *device);
void adsm_cl_deferred_used(struct adsm_cl_device *device, struct adsm_cl_deferred *deferred, bool ended);
/* Free the bytes of deferred writes, after the queues were destroyed. Returns false if the driver of a lost device may
 * still read them. */
bool adsm_cl_deferred_end(struct adsm_cl_device *device);
