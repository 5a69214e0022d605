/* SPDX-License-Identifier: MIT */
/* task.h - tasks: launches whose blocks are workers, which run all at once and talk by locks and barriers. */
#ifndef ADSM_PROCESS_TASK_H
#define ADSM_PROCESS_TASK_H

#include "pool.h"

/*
 * Run a task, a thread for each worker, and return when all have ended. One at a time. 0, or a negative errno, with the
 * reason in @ret_text: then those workers that the task still had have ended where they next called. If one does not
 * for 10 seconds this process ends instead, and @shared says why.
 * -EDEADLK	all that have not ended wait; or a worker waits for itself
 * -EPERM	a worker gives back a lock that it has not got
 * -EOWNERDEAD	a worker has ended with a lock
 * -EINVAL	there is no such lock, or memory
 * -EAGAIN, …	a thread could not be started: no worker has run
 */
int adsm_task_run_all(const struct adsm_pool_launch *launch, const char *name, struct adsm_process_shared *shared,
		      uint64_t ret_counts[ADSM_TASK_N_COUNTS], char ret_text[ADSM_PROCESS_TEXT]);
/* For the worker that runs: it has freed what was not allocated, and its task has failed. */
_Noreturn void adsm_task_fail_free(struct adsm_task_worker *worker, void *p);

#endif
