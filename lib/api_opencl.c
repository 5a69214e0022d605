/* SPDX-License-Identifier: MIT */
/* api_opencl.c - the public functions for programs that use OpenCL themselves. */
#include <errno.h>
#include <string.h>

#include "adsm_opencl.h"
#include "log.h"
#include "manager.h"
#include "options.h"

#define BACKEND "opencl"

/* A device of the right backend. */
static int get_home(int device, struct adsm_home **ret_home)
{
	int error = adsm_start();

	if (!error)
		error = adsm_home_get(device, ret_home);
	if (!error && strcmp((*ret_home)->device->backend->name, BACKEND))
		error = adsm_fail(-ENOTSUP, "device %d is one of the backend '%s': choose ADSM_BACKEND=" BACKEND,
				  (*ret_home)->index, (*ret_home)->device->backend->name);
	return error;
}

int adsmOpenCLUse(struct _cl_context *context, struct _cl_device_id *device)
{
	const struct adsm_backend *backend = adsm_backend_named(BACKEND);
	int error;

	if (adsm_started())
		return adsm_fail(-EBUSY, "adsmOpenCLUse() comes before adsmInit() and whatever starts the library");
	if (!backend)
		return adsm_fail(-ENOTSUP, "the library was built without OpenCL's headers");
	if (!context != !device)
		return adsm_fail(-EINVAL, "adsmOpenCLUse() takes a context and one of its devices, or neither");
	error = adsm_options_load();	/* which say what loader to open */
	if (!error)
		error = backend->use_context(context, device);
	return error || !context ? error : adsm_options_set("backend", BACKEND);
}

int adsmOpenCLGet(int device, adsmOpenCLHandles *ret_handles)
{
	struct adsm_native native;
	struct adsm_home *home;
	int error;

	if (!ret_handles || ret_handles->struct_size != sizeof(*ret_handles))
		return adsm_fail(-EINVAL, "adsmOpenCLHandles: set struct_size to sizeof(adsmOpenCLHandles)");
	error = get_home(device, &home);
	if (!error)
		error = home->device->backend->native(home->device, &native);
	if (error)
		return error;
	ret_handles->platform = native.platform;
	ret_handles->device = native.device;
	ret_handles->context = native.context;
	ret_handles->compute = native.queues[ADSM_QUEUE_COMPUTE];
	ret_handles->to_device = native.queues[ADSM_QUEUE_TO_DEVICE];
	ret_handles->to_host = native.queues[ADSM_QUEUE_TO_HOST];
	return 0;
}

int adsmOpenCLMem(const void *p, struct _cl_mem **ret_buffer, size_t *ret_offset)
{
	struct adsm_object *object;
	struct adsm_sigset old;
	void *handle;
	int error;

	if (!ret_buffer || !ret_offset)
		return adsm_fail(-EINVAL, "adsmOpenCLMem() takes places for a buffer and an offset");
	error = adsm_start();
	if (error)
		return error;
	object = adsm_object_enter(p, &old);
	if (!object)
		return adsm_fail(-EINVAL, "%p is in no live object", p);
	error = object->home->device->backend->native_memory(object->memory, &handle);
	if (!error) {
		*ret_buffer = handle;
		*ret_offset = (uintptr_t)p - object->start;
	}
	adsm_home_unlock(object->home, &old);
	return error;
}

int adsmOpenCLRelease(const adsmArg *uses, size_t n)
{
	adsmArg named[ADSM_ARGS_MAX];
	struct adsm_object *object = NULL;
	struct adsm_sigset old;
	struct adsm_home *home;
	adsmKernel *nothing;
	uint64_t seq;
	int error;

	if (n > ADSM_ARGS_MAX || (n && !uses))
		return adsm_fail(-EINVAL, "adsmOpenCLRelease() takes up to %d addresses", ADSM_ARGS_MAX);
	error = get_home(ADSM_DEVICE_CURRENT, &home);
	if (error || !n)
		return error;
	for (size_t i = 0; i < n; i++) {
		if (uses[i].kind != ADSM_ARG_POINTER)
			return adsm_fail(-EINVAL, "adsmOpenCLRelease(), entry %zu: it takes adsmIn(), adsmOut(), "
					 "adsmInOut() and adsmPtr()", i);
		named[i] = uses[i];
		named[i].kind = ADSM_ARG_USE;
		if (!named[i].access)
			named[i].access = ADSM_ACCESS_INOUT;
	}
	/* On the device where they live; whether all of them do so the call says. */
	for (size_t i = 0; i < n && !object; i++) {
		object = adsm_object_enter(uses[i].data, &old);
		if (object) {
			home = object->home;
			adsm_home_unlock(home, &old);
		}
	}
	error = adsm_kernel_nothing(home, &nothing);
	if (!error)
		error = adsm_call(nothing, (adsmDim){ 1, 1, 1 }, (adsmDim){ 1, 1, 1 }, named, n);
	if (error)
		return error;
	/* The program's queues know nothing of the order of calls. */
	adsm_home_lock(home, &old);
	seq = home->last_seq;
	adsm_home_unlock(home, &old);
	return adsm_wait_call(home, seq);
}

adsmKernel *adsmOpenCLKernel(int device, struct _cl_kernel *kernel)
{
	adsmModule *module;
	struct adsm_home *home;
	int error;

	error = kernel ? get_home(device, &home) : adsm_fail(-EINVAL, "adsmOpenCLKernel() takes a kernel");
	if (!error)
		error = adsm_module_adopt(home, kernel, &module);
	if (error) {
		errno = -error;
		return NULL;
	}
	return &module->kernels[0];
}

int adsmOpenCLKernelFree(adsmKernel *kernel)
{
	int error = kernel ? adsm_start() : 0;

	if (error || !kernel)
		return error;
	if (!adsm_kernel_is_live(kernel) || !kernel->module->only || kernel->module->internal)
		return adsm_fail(-EINVAL, "%p is no kernel that adsmOpenCLKernel() gave", (void *)kernel);
	return adsmModuleUnload(kernel->module);
}
