/* SPDX-License-Identifier: MIT */
/* tasks.h - tasks on cores with a local store: each worker is one, and shares pages with the others by crc.h. */
#pragma once

#include "store/core.h"
#include "process/device/task.h"
#include "scratchpad/shared.h"

/* Before all else: what workers' stores are made of, and where device memory is in this process. */
void adsm_tasks_start(struct adsm_process_shared *shared, const struct adsm_scratchpad_geometry *geometry,
		      const struct adsm_scratchpad_task *task, const struct adsm_cache_memory *memory, unsigned n_cores,
		      void (*wrong)(uint64_t address, const char *what));
/* Run one, and return when all workers have ended. 0, or a negative errno with a sentence, as adsm_task_run_all() has
 * them. @memory: with what else this launch may read. @costs: NULL: it is not counted. */
int adsm_tasks_run(struct adsm_process_slot *slot, struct adsm_process_shared *served,
		   struct adsm_pool_launch *launch, const struct adsm_cache_memory *memory,
		   struct adsm_scratchpad_costs *costs, char ret_text[ADSM_PROCESS_TEXT]);
/* Does the layout of tasks, which is not that of kernels, have room for this one? Else the sentence of why. */
bool adsm_tasks_fit(const struct adsm_store_needs *needs, char ret_text[ADSM_PROCESS_TEXT]);
/* The core of the calling thread, which is a worker's; NULL: it is not. For signal handlers too. */
const struct adsm_core *adsm_tasks_core(void);
