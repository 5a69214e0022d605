/* SPDX-License-Identifier: MIT */
/* behind.h - reads that follow a launch; all with signals blocked. */
#ifndef ADSM_OPENCL_BEHIND_H
#define ADSM_OPENCL_BEHIND_H

#include "device.h"

/* After a launch, the operation @seq of the queue, whose lock is held: begin to read what is expected. */
void adsm_cl_read_behind(struct adsm_cl_queue *queue, const struct adsm_launch *launch, uint64_t seq);
/* Something is given to the device that may write to @memory (NULL: to any). */
void adsm_cl_behind_forget(struct adsm_cl_device *device, const struct adsm_cl_memory *memory);
/* That is gone as soon as this returns. */
void adsm_cl_behind_settle(struct adsm_cl_device *device, const struct adsm_cl_memory *memory);
/* Take bytes from there; false: they are not. */
bool adsm_cl_behind_take(struct adsm_cl_device *device, const struct adsm_cl_memory *memory, size_t offset, size_t size,
			 void *dst);
/* The queues are gone. False: of a lost device the driver may still write there. */
bool adsm_cl_behind_end(struct adsm_cl_device *device);

#endif
