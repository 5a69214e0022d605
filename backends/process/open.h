/* SPDX-License-Identifier: MIT */
/* open.h - opening and closing a device process, and the state that the application has of it. */
#pragma once

#include "launch.h"
#include "memory.h"
#include "module.h"
#include "process.h"

/* Allocate a device, all zero. @size: bytes of the backend's own structure, which begins with struct
 * adsm_process_device. */
void *adsm_process_new(size_t size);
/* Start the process that @device describes. On failure the device is freed. */
int adsm_process_open(struct adsm_process_device *device, const struct adsm_backend_config *config,
		      struct adsm_device **ret_device);
void adsm_process_close(struct adsm_device *device);

/* The functions that all such backends share: all of struct adsm_backend except probe() and open(). Needs stubs.h. */
#define ADSM_PROCESS_OPERATIONS \
	.driver = &adsm_no_driver, \
	.close = adsm_process_close, \
	.alloc = adsm_process_alloc, \
	.free = adsm_process_free, \
	.memory_free = adsm_process_memory_free, \
	.to_device = adsm_process_to_device, \
	.to_host = adsm_process_to_host, \
	.copy = adsm_process_copy, \
	.fill = adsm_process_fill, \
	.module_load = adsm_process_module_load, \
	.module_unload = adsm_process_module_unload, \
	.kernel_get = adsm_process_kernel_get, \
	.module_names = adsm_no_module_names, \
	.kernel_params = adsm_no_kernel_params, \
	.launch = adsm_process_launch, \
	.event_query = adsm_process_event_query, \
	.event_wait = adsm_process_event_wait, \
	.event_times = adsm_process_event_times, \
	.event_failure = adsm_process_event_failure, \
	.status = adsm_process_status
