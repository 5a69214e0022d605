/* SPDX-License-Identifier: MIT */
/* device.c - converts errors of the driver, and marks devices as lost. */
#include "device.h"

#include <errno.h>

void adsm_cl_lose(struct adsm_cl_device *device, cl_int error, const char *what)
{
	char text[128];

	adsm_format(text, sizeof(text), "%s failed with %s", what, adsm_cl_error_name(error));
	adsm_driven_lose(&device->base, ADSM_LOG_ERROR, text);
	if (device->when_lost)
		device->when_lost(device);
}

int adsm_cl_errno(struct adsm_cl_device *device, cl_int error, const char *what)
{
	switch (error) {
	case CL_SUCCESS:
		return 0;
	case CL_DEVICE_NOT_AVAILABLE:
	case CL_INVALID_COMMAND_QUEUE:	/* some drivers return this for queues after a kernel crashed */
		adsm_cl_lose(device, error, what);
		return -ENODEV;
	case CL_OUT_OF_RESOURCES:
	case CL_OUT_OF_HOST_MEMORY:
	case CL_MEM_OBJECT_ALLOCATION_FAILURE:
		adsm_info("%s: %s failed with %s", device->base.base.name, what, adsm_cl_error_name(error));
		return -ENOMEM;
	case CL_INVALID_KERNEL_ARGS:
	case CL_INVALID_WORK_GROUP_SIZE:
	case CL_INVALID_WORK_ITEM_SIZE:
	case CL_INVALID_GLOBAL_WORK_SIZE:
		return -EINVAL;		/* an error of the caller, which reports it */
	default:
		adsm_info("%s: %s failed with %s", device->base.base.name, what, adsm_cl_error_name(error));
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

	return ret ? adsm_fail(ret, "%s: %s failed with %s", device->base.base.name, what,
			       adsm_cl_error_name(error)) : 0;
}

void adsm_cl_device_text(cl_device_id device, cl_device_info what, char *ret_text, size_t size)
{
	size_t n = 0;

	ret_text[0] = '\0';
	if (adsm_cl.clGetDeviceInfo(device, what, size, ret_text, &n) || n > size)
		ret_text[0] = '\0';
}

int adsm_cl_reserve(struct adsm_cl_device *device, size_t size)
{
	uint64_t used = atomic_load(&device->memory_used), total = device->base.base.caps.memory_size;

	if (size > device->max_alloc)
		return adsm_fail(-ENOMEM, "%s supports at most %lu bytes in one allocation, not %zu",
				 device->base.base.name, (unsigned long)device->max_alloc, size);
	do
		if (size > total - used)
			return adsm_fail(-ENOMEM, "%s is full: %zu bytes asked for, %lu of %lu free",
					 device->base.base.name, size, (unsigned long)(total - used),
					 (unsigned long)total);
	while (!atomic_compare_exchange_weak(&device->memory_used, &used, used + size));
	return 0;
}

void adsm_cl_unreserve(struct adsm_cl_device *device, size_t size)
{
	atomic_fetch_sub(&device->memory_used, size);
}
