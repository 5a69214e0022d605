/* SPDX-License-Identifier: MIT */
/* stubs.h - functions that a backend does not support: they fail with -ENOTSUP and a sentence. */
#pragma once

#include "backend.h"

/* For a backend without a driver that programs can share. */
extern const struct adsm_driver_ops adsm_no_driver;

/* For a backend that counts no costs of launches. */
extern const struct adsm_cost_ops adsm_no_costs;

/* For a backend whose kernels do not use write-once objects. */
extern const struct adsm_once_ops adsm_no_once;

/* For a backend that knows no reasons of failed launches. */
const char *adsm_no_event_failure(struct adsm_device *device, struct adsm_device_event event);

/* For a backend that supports a part of struct adsm_driver_ops. */
void adsm_no_end(struct adsm_device *device, const char *why, bool wait);
int adsm_no_memory_adopt(struct adsm_device *device, uint64_t address, size_t size, uint64_t wanted,
			 struct adsm_memory **ret_memory);
int adsm_no_queue_follow(struct adsm_device *device, void *queue);
int adsm_no_queue_join(struct adsm_device *device, void *const *queues, size_t n, struct adsm_device_event *ret_event);

/* For a backend that loads only modules of adsmcc, which describe themselves. */
int adsm_no_module_names(struct adsm_code *code, char **ret_names);
int adsm_no_kernel_params(struct adsm_entry *entry, struct adsm_param *ret_params, size_t max);
