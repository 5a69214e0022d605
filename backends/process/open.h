/* SPDX-License-Identifier: MIT */
/* open.h - a device process and all that the application has of it: from open() to close(). */
#ifndef ADSM_PROCESS_OPEN_H
#define ADSM_PROCESS_OPEN_H

#include "launch.h"
#include "memory.h"
#include "module.h"
#include "process.h"

/* All zero; @size: with what a backend has of its own behind. */
void *adsm_process_new(size_t size);
/* Start what was described; the device is freed when it fails. */
int adsm_process_open(struct adsm_process_device *device, const struct adsm_backend_config *config);
void adsm_process_close(struct adsm_device *device);

/* What all such backends answer in the same way: their slots but probe() and open(). With stubs.h. */
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
	.event_elapsed = adsm_process_event_elapsed, \
	.status = adsm_process_status

#endif
