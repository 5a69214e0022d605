/* SPDX-License-Identifier: MIT */
/* api/opencl.c - the public functions for programs that use OpenCL themselves. */
#include <errno.h>
#include <string.h>

#include "api/sized.h"
#include "api/told.h"
#include "adsm_opencl.h"
#include "driver/handles.h"
#include "base/log.h"
#include "core/resident.h"
#include "run/wait/enter.h"
#include "run/wait/wait.h"
#include "start/start.h"

static const struct adsm_handles_api api = {
	"opencl", "adsmOpenCL", "the library was built without OpenCL's headers",
};

int adsmOpenCLUse(struct _cl_context *context, struct _cl_device_id *device)
{
	ADSM_TELLS;

	if (!context != !device)
		return adsm_fail(-EINVAL, "adsmOpenCLUse(): pass a context and one of its devices, or NULL for both");
	return ADSM_TOLD(adsm_handles_use(&api, context, device));
}

int adsmOpenCLGet(int device, adsmOpenCLHandles *ret_handles)
{
	static const struct adsm_sized sized = ADSM_SIZED(adsmOpenCLHandles, "struct_size", to_host);
	ADSM_TELLS;
	struct adsm_native native;
	adsmOpenCLHandles handles;
	const size_t room = ret_handles ? ret_handles->struct_size : 0;
	int error = adsm_sized_check(&sized, ret_handles, room);

	if (!error)
		error = adsm_handles_get(&api, device, &native);
	if (error)
		return ADSM_TOLD(error);
	handles.struct_size = room;
	handles.platform = native.platform;
	handles.device = native.device;
	handles.context = native.context;
	handles.compute = native.queues[ADSM_QUEUE_COMPUTE];
	handles.to_device = native.queues[ADSM_QUEUE_TO_DEVICE];
	handles.to_host = native.queues[ADSM_QUEUE_TO_HOST];
	adsm_sized_give(&sized, &handles, ret_handles, room);
	return 0;
}

int adsmOpenCLMem(const void *p, struct _cl_mem **ret_buffer, size_t *ret_offset)
{
	ADSM_TELLS;
	struct adsm_object *object;
	struct adsm_sigset old;
	void *handle;
	int error;

	if (!ret_buffer || !ret_offset)
		return adsm_fail(-EINVAL, "adsmOpenCLMem(): ret_buffer or ret_offset is NULL");
	error = adsm_start();
	if (error)
		return ADSM_TOLD(error);
	object = adsm_object_enter(p, &old);
	if (!object)
		return adsm_fail(-EINVAL, "%p is not in a live object", p);
	if (strcmp(object->home->device->backend->name, api.backend))
		error = adsm_fail(-ENOTSUP, "adsmOpenCLMem(): %p is on %s, not on an OpenCL device", p,
				  object->home->device->name);
	else
		error = adsm_object_place(object);
	if (!error)
		error = object->home->device->backend->driver->native_memory(object->memory, &handle);
	if (!error) {
		/* Only now has the program a handle. */
		object->pinned = true;
		*ret_buffer = handle;
		*ret_offset = (uintptr_t)p - object->start;
	}
	adsm_home_unlock(object->home, &old);
	return ADSM_TOLD(error);
}

int adsmOpenCLRelease(const adsmArg *uses, size_t n)
{
	ADSM_TELLS;
	struct adsm_home *home;
	uint64_t seq;
	int error = adsm_handles_release(&api, uses, n, __builtin_return_address(0), &home, &seq);

	/* The program's queues do not follow the order of calls, so wait here. */
	return ADSM_TOLD(error || !n ? error : adsm_wait_calls_to(home, seq));
}

adsmKernel *adsmOpenCLKernel(int device, struct _cl_kernel *kernel)
{
	return adsm_handles_kernel(&api, device, kernel);
}

int adsmOpenCLKernelFree(adsmKernel *kernel)
{
	ADSM_TELLS;

	return ADSM_TOLD(adsm_handles_kernel_free(&api, kernel));
}
