/* SPDX-License-Identifier: MIT */
/* module.h - images and kernels. */
#pragma once

#include "backend.h"

int adsm_cuda_module_load(struct adsm_device *device, const struct adsm_image *image, struct adsm_code **ret_code);
void adsm_cuda_module_unload(struct adsm_code *code);
int adsm_cuda_kernel_get(struct adsm_code *code, const char *name, struct adsm_entry **ret_entry);
int adsm_cuda_module_names(struct adsm_code *code, char **ret_names);
int adsm_cuda_kernel_params(struct adsm_entry *entry, struct adsm_param *ret_params, size_t max);
int adsm_cuda_kernel_adopt(struct adsm_device *device, void *kernel, struct adsm_code **ret_code);
