/* SPDX-License-Identifier: MIT */
/* device.c - what the errors of a device mean, and its end. */
#include "device.h"

#include <errno.h>
#include <limits.h>

#include "base/log.h"

void adsm_cl_queue_wake(struct adsm_cl_queue *queue)
{
	atomic_fetch_add(&queue->tick, 1);
	if (atomic_load(&queue->n_waiting))
		adsm_os_wake(&queue->tick, INT_MAX, false);
}

void adsm_cl_lose(struct adsm_cl_device *device, cl_int error, const char *what)
{
	struct adsm_sigset old;

	adsm_os_signals_block(&old);
	adsm_lock(&device->lost_lock);
	if (!atomic_load(&device->lost)) {
		adsm_format(device->lost_text, sizeof(device->lost_text), "%s was lost: %s failed with %s",
			    device->base.name, what, adsm_cl_error_name(error));
		adsm_error("%s", device->lost_text);
		atomic_store(&device->base.lost, device->lost_text);
		atomic_store(&device->lost, true);
	}
	adsm_unlock(&device->lost_lock);
	adsm_os_signals_restore(&old);
	for (int i = 0; i < ADSM_N_QUEUES; i++)
		adsm_cl_queue_wake(&device->queues[i]);
}

int adsm_cl_errno(struct adsm_cl_device *device, cl_int error, const char *what)
{
	switch (error) {
	case CL_SUCCESS:
		return 0;
	case CL_DEVICE_NOT_AVAILABLE:
	case CL_INVALID_COMMAND_QUEUE:	/* what some drivers say of queues after a kernel crashed */
		adsm_cl_lose(device, error, what);
		return -ENODEV;
	case CL_OUT_OF_RESOURCES:
	case CL_OUT_OF_HOST_MEMORY:
	case CL_MEM_OBJECT_ALLOCATION_FAILURE:
		adsm_info("%s: %s failed with %s", device->base.name, what, adsm_cl_error_name(error));
		return -ENOMEM;
	case CL_INVALID_KERNEL_ARGS:
	case CL_INVALID_WORK_GROUP_SIZE:
	case CL_INVALID_WORK_ITEM_SIZE:
	case CL_INVALID_GLOBAL_WORK_SIZE:
		return -EINVAL;		/* the caller's, who says so */
	default:
		adsm_info("%s: %s failed with %s", device->base.name, what, adsm_cl_error_name(error));
		return -EIO;
	}
}

int adsm_cl_moved(struct adsm_cl_device *device, cl_int error, const char *what)
{
	int ret = adsm_cl_errno(device, error, what);

	return ret == -ENOMEM ? -EIO : ret;
}

int adsm_cl_error(struct adsm_cl_device *device, cl_int error, const char *what)
{
	int ret = adsm_cl_errno(device, error, what);

	return ret ? adsm_fail(ret, "%s: %s failed with %s", device->base.name, what, adsm_cl_error_name(error)) : 0;
}

int adsm_cl_status(struct adsm_device *base)
{
	struct adsm_cl_device *device = (struct adsm_cl_device *)base;

	return atomic_load(&device->lost) ? adsm_fail(-ENODEV, "%s", device->lost_text) : 0;
}

void adsm_cl_device_text(cl_device_id device, cl_device_info what, char *ret_text, size_t size)
{
	size_t n = 0;

	ret_text[0] = '\0';
	if (adsm_cl.clGetDeviceInfo(device, what, size, ret_text, &n) || n > size)
		ret_text[0] = '\0';
}
