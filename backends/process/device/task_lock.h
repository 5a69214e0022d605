/* SPDX-License-Identifier: MIT */
/* task_lock.h - the locks of tasks, identified by numbers. */
#pragma once

#include "task_crew.h"

/* How often a lock may be taken before the worker that is first in its queue. The tests use another number. */
#ifndef ADSM_TASK_BYPASS_MAX
#define ADSM_TASK_BYPASS_MAX 64
#endif

/* Neither function returns if the task has failed. */
void adsm_task_lock(struct adsm_task_worker *worker, uint32_t id);
void adsm_task_unlock(struct adsm_task_worker *worker, uint32_t id);
/* The lowest lock that the worker with this thread id holds; ADSM_TASK_LOCKS_MAX: none. [signal] */
uint32_t adsm_task_held(uint32_t id);
/* Call this after a failed task: frees all locks and empties their queues. */
void adsm_task_locks_reset(void);
/* For tests: the largest number of times that a waiting worker was bypassed since the start. */
uint64_t adsm_task_bypassed(void);
