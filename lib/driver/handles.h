/* SPDX-License-Identifier: MIT */
/*
 * handles.h - what the public functions for programs that use a driver themselves have in common: the driver's handles,
 * of the library's parts and of the program's.
 */
#ifndef ADSM_HANDLES_H
#define ADSM_HANDLES_H

#include "adsm.h"
#include "core/home.h"

struct adsm_handles_api {
	const char *backend;
	const char *prefix;		/* of its functions' names */
	const char *missing;		/* the sentence where this library has no such backend */
};

/* A device of the right backend; starts the library. */
int adsm_handles_home(const struct adsm_handles_api *api, int device, struct adsm_home **ret_home);
/* The program's context and its device; NULL: none. */
int adsm_handles_use(const struct adsm_handles_api *api, void *context, void *device);
/* The driver's handles of a device's parts. */
int adsm_handles_get(const struct adsm_handles_api *api, int device, struct adsm_native *ret_native);
/*
 * Release objects to what the program enqueues next: they live on *ret_home, and the call there is *ret_seq. @where:
 * code address of who asks.
 */
int adsm_handles_release(const struct adsm_handles_api *api, const adsmArg *uses, size_t n, const void *where,
			struct adsm_home **ret_home, uint64_t *ret_seq);
adsmKernel *adsm_handles_kernel(const struct adsm_handles_api *api, int device, void *handle);
int adsm_handles_kernel_free(const struct adsm_handles_api *api, adsmKernel *kernel);

#endif
