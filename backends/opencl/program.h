/* SPDX-License-Identifier: MIT */
/* program.h - modules and kernels. */
#pragma once

#include "device.h"
#include "driven_code.h"

struct adsm_cl_entry {
	struct adsm_driven_entry base;	/* dialect: a pointer is a buffer and an offset */
	cl_kernel kernel;		/* NULL: the kernel does nothing */
	uint64_t reachable_at;			/* device->memories_changed when set_reachable() was last called */
};

struct adsm_cl_code {
	struct adsm_driven_code base;
	cl_program program;		/* NULL: an adopted kernel */
	cl_kernel adopted;
};

/* Compile OpenCL C of the library, or take it from the cache. The caller releases it. Returns a negative errno if that
 * fails. */
int adsm_cl_program_make(struct adsm_cl_device *device, const char *source, size_t size, cl_program *ret_program);
int adsm_cl_module_load(struct adsm_device *device, const struct adsm_image *image, struct adsm_code **ret_code);
void adsm_cl_module_unload(struct adsm_code *code);
int adsm_cl_kernel_get(struct adsm_code *code, const char *name, struct adsm_entry **ret_entry);
int adsm_cl_module_names(struct adsm_code *code, char **ret_names);
int adsm_cl_kernel_params(struct adsm_entry *entry, struct adsm_param *ret_params, size_t max);
int adsm_cl_kernel_adopt(struct adsm_device *device, void *kernel, struct adsm_code **ret_code);
