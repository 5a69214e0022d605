/* SPDX-License-Identifier: MIT */
/* program.h - modules and kernels. */
#ifndef ADSM_OPENCL_PROGRAM_H
#define ADSM_OPENCL_PROGRAM_H

#include "backend.h"
#include "cl.h"
#include "base/os.h"

struct adsm_cl_entry {
	struct adsm_entry base;
	struct adsm_cl_entry *next;
	cl_kernel kernel;		/* NULL: does nothing */
	bool dialect;			/* of adsmcc: a pointer is a buffer and an offset */
	size_t max_group;		/* threads in a block */
	uint64_t told;			/* device->memories_changed when the driver was told what this may reach */
};

struct adsm_cl_code {
	struct adsm_code base;
	cl_program program;		/* NULL: an adopted kernel */
	cl_kernel adopted;
	bool dialect;
	struct adsm_mutex lock;		/* of entries */
	struct adsm_cl_entry *entries;
};

int adsm_cl_module_load(struct adsm_device *device, const struct adsm_image *image, struct adsm_code **ret_code);
void adsm_cl_module_unload(struct adsm_code *code);
int adsm_cl_kernel_get(struct adsm_code *code, const char *name, struct adsm_entry **ret_entry);
int adsm_cl_module_names(struct adsm_code *code, char **ret_names);
int adsm_cl_kernel_params(struct adsm_entry *entry, struct adsm_param *ret_params, size_t max);
int adsm_cl_kernel_adopt(struct adsm_device *device, void *kernel, struct adsm_code **ret_code);

#endif
