/* SPDX-License-Identifier: MIT */
/* memory.h - memory of a device process: functions of struct adsm_backend, and device memory that is not the arena's
 * file. */
#pragma once

#include "process.h"

/* Create a file of the arena's size and map it in this process. The caller closes the file. */
int adsm_process_memory_create(struct adsm_process_device *device, int *ret_fd);
void adsm_process_memory_destroy(struct adsm_process_device *device);

int adsm_process_alloc(struct adsm_device *device, size_t size, uint64_t wanted, struct adsm_memory **ret_memory);
void adsm_process_free(struct adsm_memory *memory);
uint64_t adsm_process_memory_free(struct adsm_device *device);

int adsm_process_to_device(struct adsm_memory *dst, size_t offset, const void *src, size_t size,
			   struct adsm_device_event *ret_event);
int adsm_process_to_host(void *dst, struct adsm_memory *src, size_t offset, size_t size,
			 struct adsm_device_event *ret_event);
int adsm_process_copy(struct adsm_memory *dst, size_t dst_offset, struct adsm_memory *src, size_t src_offset,
		      size_t size, struct adsm_device_event *ret_event);
int adsm_process_fill(struct adsm_memory *dst, size_t offset, uint8_t value, size_t size,
		      struct adsm_device_event *ret_event);
