/* SPDX-License-Identifier: MIT */
/*
 * behind.c - a read that follows a launch at once, of what the host is expected to fetch when that has ended: then its
 * bytes are here already, and nobody wakes the driver's threads once more.
 *
 * They are a copy of the device's memory as the launch left it, good until something is given to the device that may
 * write there.
 */
#include "opencl.h"

#include <stdlib.h>
#include <string.h>

#define SIZE_MAX_BEHIND ((size_t)64 << 10)

/* Of the last one: has it ended? Then its place is free. Lock held. */
static bool has_ended(struct adsm_cl_behind *behind)
{
	cl_int status = CL_QUEUED;

	if (!behind->event)
		return true;
	adsm_cl.clGetEventInfo(behind->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
	if (status > CL_COMPLETE)
		return false;
	adsm_cl.clReleaseEvent(behind->event);
	behind->event = NULL;
	return true;
}

void adsm_cl_read_behind(struct adsm_cl_queue *queue, const struct adsm_launch *launch, uint64_t seq)
{
	struct adsm_cl_device *device = queue->device;
	struct adsm_cl_memory *memory = (struct adsm_cl_memory *)launch->expected.memory;
	struct adsm_cl_behind *behind = &device->behind;
	size_t offset = launch->expected.offset, size = launch->expected.size;

	if (!memory || size > SIZE_MAX_BEHIND || atomic_load(&memory->given) || device->base.caps.unified)
		return;
	adsm_lock(&behind->lock);
	if (!behind->bytes)
		behind->bytes = malloc(SIZE_MAX_BEHIND);
	if (behind->bytes && has_ended(behind) &&
	    !device->way->read(queue, behind->bytes, memory, offset, size, false, &behind->event)) {
		behind->offset = offset;
		behind->size = size;
		behind->seq = seq;
		atomic_store(&behind->memory, memory);
	}
	adsm_unlock(&behind->lock);
}

void adsm_cl_behind_forget(struct adsm_cl_device *device, const struct adsm_cl_memory *memory)
{
	struct adsm_cl_behind *behind = &device->behind;

	if (!atomic_load(&behind->memory))
		return;
	adsm_lock(&behind->lock);
	if (!memory || atomic_load(&behind->memory) == memory)
		atomic_store(&behind->memory, NULL);
	adsm_unlock(&behind->lock);
}

bool adsm_cl_behind_take(struct adsm_cl_device *device, const struct adsm_cl_memory *memory, size_t offset, size_t size,
			 void *dst)
{
	struct adsm_cl_behind *behind = &device->behind;
	bool has;

	if (atomic_load(&behind->memory) != memory)
		return false;
	adsm_lock(&behind->lock);
	/* Nobody is made to wait for a launch here. */
	has = atomic_load(&behind->memory) == memory && offset >= behind->offset &&
		offset + size <= behind->offset + behind->size &&
		atomic_load(&device->queues[ADSM_QUEUE_COMPUTE].done) >= behind->seq &&
		(!behind->event || !adsm_cl.clWaitForEvents(1, &behind->event));
	if (has)
		memcpy(dst, behind->bytes + (offset - behind->offset), size);
	adsm_unlock(&behind->lock);
	return has;
}

void adsm_cl_behind_end(struct adsm_cl_device *device, bool quiet)
{
	if (device->behind.event)
		adsm_cl.clReleaseEvent(device->behind.event);
	if (quiet)
		free(device->behind.bytes);
}
