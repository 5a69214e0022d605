/* SPDX-License-Identifier: MIT */
/* memory.h - memory of a device, and copies. */
#pragma once

#include "driven.h"

int adsm_cuda_alloc(struct adsm_device *device, size_t size, uint64_t wanted, struct adsm_memory **ret_memory);
int adsm_cuda_memory_adopt(struct adsm_device *device, uint64_t address, size_t size, uint64_t wanted,
			   struct adsm_memory **ret_memory);
void adsm_cuda_free(struct adsm_memory *memory);
uint64_t adsm_cuda_memory_free(struct adsm_device *device);
int adsm_cuda_run(struct adsm_device *device, const struct adsm_driven_operation *o,
		  struct adsm_device_event *ret_event);
int adsm_cuda_native_memory(struct adsm_memory *memory, void **ret_handle);
