/* SPDX-License-Identifier: MIT */
/* handles.h - the common part of the public functions for programs that use a driver themselves: the driver's handles
 * of the library's objects, and of the program's. */
#pragma once

#include "adsm.h"
#include "core/home.h"

struct adsm_handles_api {
	const char *backend;
	const char *prefix;		/* of the names of its functions */
	const char *missing;		/* the error text if this library has no such backend */
};

/* Use the program's context and its device; NULL: none. */
int adsm_handles_use(const struct adsm_handles_api *api, void *context, void *device);
/* Get the driver's handles of a device. */
int adsm_handles_get(const struct adsm_handles_api *api, int device, struct adsm_native *ret_native);
/* Release objects to commands that the program enqueues next. *ret_home is the home of the objects, *ret_seq the number
 * of the call that stands for the commands. @where: the caller's code address. */
int adsm_handles_release(const struct adsm_handles_api *api, const adsmArg *uses, size_t n, const void *where,
			struct adsm_home **ret_home, uint64_t *ret_seq);
adsmKernel *adsm_handles_kernel(const struct adsm_handles_api *api, int device, void *handle);
int adsm_handles_kernel_free(const struct adsm_handles_api *api, adsmKernel *kernel);
