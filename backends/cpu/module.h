/* SPDX-License-Identifier: MIT */
/* module.h - modules that a cpu device has loaded, and their kernels: slots of the backend. */
#ifndef ADSM_CPU_MODULE_H
#define ADSM_CPU_MODULE_H

#include "process.h"

struct adsm_cpu_entry {
	struct adsm_entry base;
	struct adsm_cpu_entry *next;
	uint32_t index;
	char name[ADSM_CPU_NAME];
};

int adsm_cpu_module_load(struct adsm_device *device, const struct adsm_image *image, struct adsm_code **ret_code);
void adsm_cpu_module_unload(struct adsm_code *code);
int adsm_cpu_kernel_get(struct adsm_code *code, const char *name, struct adsm_entry **ret_entry);

#endif
