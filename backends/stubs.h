/* SPDX-License-Identifier: MIT */
/* stubs.h - slots for what a backend does not have: they fail with -ENOTSUP and a sentence. */
#ifndef ADSM_STUBS_H
#define ADSM_STUBS_H

#include "backend.h"

/* Of a backend whose driver, if it has one, programs cannot share. */
extern const struct adsm_driver_ops adsm_no_driver;

/* Of one whose launches cost nothing but time. */
extern const struct adsm_cost_ops adsm_no_costs;
/* And of one whose parts have no memory of their own: its slot. */
int adsm_no_of_moves(struct adsm_device *device, struct adsm_device_event event, unsigned i,
		  struct adsm_part_moves *ret_moves);

/* Of one whose parts do not wait in launches. */
int adsm_no_of_wait(struct adsm_device *device, struct adsm_device_event event, unsigned i,
		    struct adsm_part_wait *ret_wait);

/* Of one whose kernels do not use write-once objects. */
extern const struct adsm_once_ops adsm_no_once;

/* Of one whose driver they share in part. */
void adsm_no_end(struct adsm_device *device, const char *why, bool wait);
int adsm_no_memory_adopt(struct adsm_device *device, uint64_t address, size_t size, uint64_t wanted,
			 struct adsm_memory **ret_memory);
int adsm_no_queue_follow(struct adsm_device *device, void *queue);
int adsm_no_queue_join(struct adsm_device *device, void *const *queues, size_t n, struct adsm_device_event *ret_event);

/* Of one that loads only modules of adsmcc's, which describe themselves. */
int adsm_no_module_names(struct adsm_code *code, char **ret_names);
int adsm_no_kernel_params(struct adsm_entry *entry, struct adsm_param *ret_params, size_t max);

#endif
