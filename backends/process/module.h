/* SPDX-License-Identifier: MIT */
/* module.h - modules that a device process has loaded, and their kernels: functions of struct adsm_backend. */
#pragma once

#include "process.h"

struct adsm_process_entry {
	struct adsm_entry base;
	struct adsm_process_entry *next;
	uint32_t index;
	char name[ADSM_PROCESS_NAME];
};

int adsm_process_module_load(struct adsm_device *device, const struct adsm_image *image, struct adsm_code **ret_code);
void adsm_process_module_unload(struct adsm_code *code);
int adsm_process_kernel_get(struct adsm_code *code, const char *name, struct adsm_entry **ret_entry);
