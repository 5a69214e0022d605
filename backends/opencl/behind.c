/* SPDX-License-Identifier: MIT */
/*
 * behind.c - a read that directly follows a launch, of bytes that the host is expected to fetch after the launch. The
 * fetch then finds them here, and the driver's threads need not be woken again.
 *
 * The bytes are a copy of the device's memory after the launch. It is valid until the device gets a command that may
 * write to that memory.
 */
#include "behind.h"

#include <stdlib.h>
#include <string.h>

#include "memory_kinds.h"

#define BEHIND_MAX ((size_t)64 << 10)	/* bytes of a read: larger ones would delay the next launch */

/* The last read has ended: release its event. The lock is held. */
static void end(struct adsm_cl_behind *behind)
{
	if (behind->event)
		adsm_cl.clReleaseEvent(behind->event);
	behind->event = NULL;
	behind->reads = NULL;
}

static bool has_ended(const struct adsm_cl_behind *behind)
{
	cl_int status = CL_QUEUED;

	if (behind->event)
		adsm_cl.clGetEventInfo(behind->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
	return !behind->event || status <= CL_COMPLETE;
}

void adsm_cl_read_behind(struct adsm_cl_queue *queue, const struct adsm_launch *launch, uint64_t seq)
{
	struct adsm_cl_device *device = queue->device;
	struct adsm_cl_memory *memory = (struct adsm_cl_memory *)launch->expected.memory;
	struct adsm_cl_behind *behind = &device->behind;
	size_t offset = launch->expected.offset, size = launch->expected.size;

	if (!memory || size > BEHIND_MAX || atomic_load(&memory->given) || device->base.base.caps.unified)
		return;
	adsm_lock(&behind->lock);
	if (!behind->bytes)
		behind->bytes = malloc(BEHIND_MAX);
	if (has_ended(behind))
		end(behind);
	if (behind->bytes && !behind->event &&
	    !device->memory_kind->read(queue, behind->bytes, memory, offset, size, false, &behind->event)) {
		behind->reads = memory;
		behind->offset = offset;
		behind->size = size;
		behind->queue = &queue->base;
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
	/* This must not wait for a launch. */
	has = atomic_load(&behind->memory) == memory && offset >= behind->offset &&
		offset + size <= behind->offset + behind->size &&
		atomic_load(&behind->queue->done) >= behind->seq &&
		!adsm_cl.clWaitForEvents(1, &behind->event);
	if (has)
		memcpy(dst, behind->bytes + (offset - behind->offset), size);
	adsm_unlock(&behind->lock);
	return has;
}

void adsm_cl_behind_settle(struct adsm_cl_device *device, const struct adsm_cl_memory *memory)
{
	struct adsm_cl_behind *behind = &device->behind;

	adsm_cl_behind_forget(device, memory);
	adsm_lock(&behind->lock);
	if (behind->reads == memory) {
		adsm_cl.clWaitForEvents(1, &behind->event);
		end(behind);
	}
	adsm_unlock(&behind->lock);
}

bool adsm_cl_behind_end(struct adsm_cl_device *device)
{
	struct adsm_cl_behind *behind = &device->behind;
	bool quiet = has_ended(behind);

	end(behind);
	if (quiet)
		free(behind->bytes);
	return quiet;
}
