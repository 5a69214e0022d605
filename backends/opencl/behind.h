/* SPDX-License-Identifier: MIT */
/* behind.h - reads that follow a launch. Signals are blocked in all of these functions. */
#pragma once

#include "device.h"

/* Call this after a launch, which is operation @seq of the queue; its lock is held. Begins to read launch->expected. */
void adsm_cl_read_behind(struct adsm_cl_queue *queue, const struct adsm_launch *launch, uint64_t seq);
/* The device gets a command that may write to @memory (NULL: to any): bytes that were read from there are stale. */
void adsm_cl_behind_forget(struct adsm_cl_device *device, const struct adsm_cl_memory *memory);
/* @memory will be freed: when this returns, no read of it is in progress. */
void adsm_cl_behind_settle(struct adsm_cl_device *device, const struct adsm_cl_memory *memory);
/* Copy bytes of @memory from the last read. Returns false if it does not contain them. */
bool adsm_cl_behind_take(struct adsm_cl_device *device, const struct adsm_cl_memory *memory, size_t offset, size_t size,
			 void *dst);
/* Free the read's bytes, after the queues were destroyed. Returns false if the driver of a lost device may still write
 * to them. */
bool adsm_cl_behind_end(struct adsm_cl_device *device);
