/* SPDX-License-Identifier: MIT */
/* process/costs.h - the costs of tasks that a device process counts. */
#pragma once

#include "backend.h"

/* One row of a device's counters. The counters from KIND_WORKERS on are counters of tasks. */
#define ADSM_PROCESS_COST(KIND, upper, text_name, text, is_peak) { \
	.name = text_name, .help = text, .peak = is_peak, .quiet = KIND##_##upper >= KIND##_WORKERS, \
	.of = KIND##_##upper == KIND##_READ_MISSES ? "reads" : \
		KIND##_##upper == KIND##_WRITE_MISSES || KIND##_##upper == KIND##_UPGRADES ? "writes" : NULL }

/* For backends whose devices run tasks, and count nothing for other launches. */
extern const struct adsm_cost_ops adsm_process_costs;
/* For tasks on devices that record what workers do. The parts are workers. */
int adsm_process_of_part(struct adsm_device *device, struct adsm_device_event event, unsigned i,
			 struct adsm_part_times *ret_times);
bool adsm_process_part_name(struct adsm_device *device, unsigned i, char ret_name[ADSM_PART_NAME]);
int adsm_process_of_wait(struct adsm_device *device, struct adsm_device_event event, unsigned i,
			 struct adsm_part_wait *ret_wait);
/* For backends whose parts have no memory of their own. */
int adsm_process_of_moves(struct adsm_device *device, struct adsm_device_event event, unsigned i,
			  struct adsm_part_moves *ret_moves);
/* Write advice on a task's locks; "" if there is none. */
struct adsm_process_locks { uint64_t n, waits, wait_ns, work_ns; };
#define ADSM_PROCESS_LOCKS(KIND, values) { \
	(values)[KIND##_LOCKS], (values)[KIND##_LOCK_WAITS], (values)[KIND##_LOCK_WAIT_NS], (values)[KIND##_WORK_NS] }
void adsm_process_advise_locks(struct adsm_device *device, const char *kernel, const struct adsm_process_locks *locks,
			       char *ret_text, size_t size);
