/* SPDX-License-Identifier: MIT */
/* task_lock.h - the locks of tasks, which have numbers. */
#ifndef ADSM_PROCESS_TASK_LOCK_H
#define ADSM_PROCESS_TASK_LOCK_H

#include "task_crew.h"

/* So many may get a lock before who has waited longer. The tests have another number. */
#ifndef ADSM_TASK_BYPASS_MAX
#define ADSM_TASK_BYPASS_MAX 64
#endif

/* Neither returns where the task has failed. */
void adsm_task_lock(struct adsm_task_worker *worker, uint32_t id);
void adsm_task_unlock(struct adsm_task_worker *worker, uint32_t id);
/* The lowest lock that a worker has, by its thread's id; ADSM_TASK_LOCKS_MAX: none. In handlers of signals, too. */
uint32_t adsm_task_held(uint32_t id);
/* After a task that has failed: nobody has a lock, nobody waits. */
void adsm_task_locks_reset(void);
/* For tests: how often the one that was bypassed most was, since the start. */
uint64_t adsm_task_bypassed(void);

#endif
