/* SPDX-License-Identifier: MIT */
/* behind.h - reads that follow a launch; all with signals blocked. */
#ifndef ADSM_OPENCL_BEHIND_H
#define ADSM_OPENCL_BEHIND_H

#include "device.h"

/* After a launch, the operation @seq of the queue, whose lock is held: begin to read launch->expected. */
void adsm_cl_read_behind(struct adsm_cl_queue *queue, const struct adsm_launch *launch, uint64_t seq);
/* The device is given a command that may write to @memory (NULL: to any): what was read from there is stale. */
void adsm_cl_behind_forget(struct adsm_cl_device *device, const struct adsm_cl_memory *memory);
/* @memory is freed next: no read of it is under way when this returns. */
void adsm_cl_behind_settle(struct adsm_cl_device *device, const struct adsm_cl_memory *memory);
/* Take bytes of @memory that the last read brought; false: it did not. */
bool adsm_cl_behind_take(struct adsm_cl_device *device, const struct adsm_cl_memory *memory, size_t offset, size_t size,
			 void *dst);
/* Free the read's bytes, once the queues are gone. False: the driver of a lost device may still write to them. */
bool adsm_cl_behind_end(struct adsm_cl_device *device);

#endif
