/* SPDX-License-Identifier: MIT */
/* handles.c - the common part of the public functions for programs that use a driver themselves. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver/handles.h"
#include "base/log.h"
#include "start/options.h"
#include "core/life.h"
#include "run/call/call.h"
#include "run/call/dataflow_end.h"
#include "run/wait/enter.h"
#include "start/start.h"

/* Get a device of the right backend. Starts the library if necessary. */
static int home_of(const struct adsm_handles_api *api, int device, struct adsm_home **ret_home)
{
	int error = adsm_start();

	if (!error)
		error = adsm_home_get(device, ret_home);
	if (!error && strcmp((*ret_home)->device->backend->name, api->backend))
		error = adsm_fail(-ENOTSUP, "device %d belongs to the backend '%s': set ADSM_BACKEND=%s",
				  (*ret_home)->index, (*ret_home)->device->backend->name, api->backend);
	return error;
}

int adsm_handles_use(const struct adsm_handles_api *api, void *context, void *device)
{
	const struct adsm_backend *backend = adsm_backend_named(api->backend);
	int error;

	/* Functions of a driver may not work there. */
	if (adsm_is_child())
		return adsm_start();
	if (adsm_started())
		return adsm_fail(-EBUSY, "%sUse() comes too late: call it before adsmInit(), and before any function "
				 "that starts the library", api->prefix);
	if (!backend)
		return adsm_fail(-ENOTSUP, "%s", api->missing);
	error = adsm_options_load();	/* they name the driver's library */
	if (!error)
		error = backend->driver->use_context(context, device);
	return error || !context ? error : adsm_options_set("backend", api->backend);
}

int adsm_handles_get(const struct adsm_handles_api *api, int device, struct adsm_native *ret_native)
{
	struct adsm_home *home;
	int error = home_of(api, device, &home);

	return error ? error : home->device->backend->driver->native(home->device, ret_native);
}

/* The same addresses as arguments of a call. Stacks may be too small for them. The caller frees the result. */
static int name_uses(const struct adsm_handles_api *api, const adsmArg *uses, size_t n, adsmArg **ret_named)
{
	adsmArg *named = malloc((n + 1) * sizeof(*named));

	if (!named)
		return adsm_fail(-ENOMEM, "%sRelease(): no memory for %zu addresses", api->prefix, n);
	for (size_t i = 0; i < n; i++) {
		if (uses[i].kind != ADSM_ARG_POINTER) {
			free(named);
			return adsm_fail(-EINVAL, "%sRelease(): entry %zu is not adsmIn(), adsmOut(), adsmInOut() or "
					 "adsmPtr()", api->prefix, i);
		}
		named[i] = uses[i];
		named[i].kind = ADSM_ARG_USE;
		if (!named[i].access)
			named[i].access = ADSM_ACCESS_INOUT;
	}
	*ret_named = named;
	return 0;
}

int adsm_handles_release(const struct adsm_handles_api *api, const adsmArg *uses, size_t n, const void *where,
			 struct adsm_home **ret_home, uint64_t *ret_seq)
{
	struct adsm_object *object = NULL;
	struct adsm_sigset old;
	struct adsm_home *home;
	adsmKernel *nothing;
	adsmArg *named;
	int error;

	if (n > ADSM_ARGS_MAX || (n && !uses))
		return adsm_fail(-EINVAL, "%sRelease() takes at most %d addresses, in an array that is not NULL",
				 api->prefix, ADSM_ARGS_MAX);
	error = home_of(api, ADSM_DEVICE_CURRENT, &home);
	if (!error)
		error = name_uses(api, uses, n, &named);
	if (error)
		return error;
	/* Use the device of the first object. The call checks whether the others are on the same one. */
	for (size_t i = 0; i < n && !object; i++) {
		object = adsm_object_enter(uses[i].data, &old);
		if (object) {
			home = object->home;
			adsm_home_unlock(home, &old);
		}
	}
	if (n) {
		error = adsm_kernel_nothing(home, &nothing);
		if (!error)
			error = adsm_call(nothing, (adsmDim){ 1, 1, 1 }, (adsmDim){ 1, 1, 1 }, named, n, where);
	}
	free(named);
	if (error)
		return error;
	adsm_home_lock(home, &old);
	*ret_seq = home->last_seq;
	adsm_home_unlock(home, &old);
	*ret_home = home;
	return 0;
}

adsmKernel *adsm_handles_kernel(const struct adsm_handles_api *api, int device, void *handle)
{
	adsmModule *module;
	struct adsm_home *home;
	int error;

	error = handle ? home_of(api, device, &home) :
		adsm_fail(-EINVAL, "%sKernel(): the kernel is NULL", api->prefix);
	if (!error)
		error = adsm_module_adopt(home, handle, &module);
	if (error) {
		errno = -error;
		return NULL;
	}
	return &module->kernels[0];
}

int adsm_handles_kernel_free(const struct adsm_handles_api *api, adsmKernel *kernel)
{
	int error = kernel ? adsm_start() : 0;

	if (error || !kernel)
		return error;
	if (!adsm_kernel_is_live(kernel) || !kernel->module->only || kernel->module->internal)
		return adsm_fail(-EINVAL, "%p is not a kernel from %sKernel()", (void *)kernel, api->prefix);
	error = adsm_dataflow_leave(kernel->module);
	return error ? error : adsm_module_unload(kernel->module);
}
