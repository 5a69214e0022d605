/* SPDX-License-Identifier: MIT */
/* task_text.h - what workers of a task wait for that cannot go on, in words. */
#ifndef ADSM_PROCESS_TASK_TEXT_H
#define ADSM_PROCESS_TASK_TEXT_H

#include "process/shared.h"

struct adsm_task_seen {
	uint32_t waits_for;		/* a lock, or ADSM_TASK_RUNS and so on */
	uint32_t holder;		/* the worker that has that lock, from 1; 0: nobody */
};

/* Of @n workers: who waits for locks, and whose they are, who is at the barrier, how many have ended. */
void adsm_task_tell_stopped(uint32_t n, struct adsm_task_seen (*see)(uint32_t worker),
			    char ret_text[ADSM_PROCESS_TEXT]);
/* Where none waits for a lock: who waits at the barrier that others, which have ended, do not come to. */
void adsm_task_tell_barrier(uint32_t n, struct adsm_task_seen (*see)(uint32_t worker),
			    char ret_text[ADSM_PROCESS_TEXT]);

#endif
