/* SPDX-License-Identifier: MIT */
/* task.h - tasks: launches whose blocks are workers, which all run at the same time and synchronize by locks and
 * barriers. */
#pragma once

#include "pool.h"

/*
 * Run a task with one thread for each worker, and return when all have ended. One task at a time. Returns 0, or a
 * negative errno with the reason in @ret_text. After an error each remaining worker ends at its next call of a task
 * function. If one does not within 10 seconds, this process ends, and @shared has the reason.
 *
 * -EDEADLK	all workers that have not ended wait; or a worker waits for itself
 * -EPERM	a worker released a lock that it does not hold
 * -EOWNERDEAD	a worker has ended while it held a lock
 * -EINVAL	invalid number of a lock, number of workers, or address to free
 * -EAGAIN, …	a thread could not be started: no worker has run
 */
int adsm_task_run_all(const struct adsm_pool_launch *launch, const char *name, struct adsm_process_shared *shared,
		      uint64_t ret_counts[ADSM_TASK_N_COUNTS], char ret_text[ADSM_PROCESS_TEXT]);
