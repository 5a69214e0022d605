/* SPDX-License-Identifier: MIT */
/* task_text.h - describes what the workers of a deadlocked task wait for. */
#pragma once

#include "process/shared.h"

struct adsm_task_state {
	uint32_t waits_for;		/* a lock, or ADSM_TASK_RUNS and so on */
	uint32_t holder;		/* the worker that holds the lock, from 1; 0: no worker */
};

/* Describe @n workers: those that wait for locks and the holders, those that wait for flags, those at the barrier, and
 * the number that has ended. */
void adsm_task_describe_stopped(uint32_t n, struct adsm_task_state (*state_of)(uint32_t worker),
				char ret_text[ADSM_PROCESS_TEXT]);
/* For a task without waits for locks and flags: describe the workers that wait at the barrier which ended workers do
 * not reach. */
void adsm_task_describe_barrier(uint32_t n, struct adsm_task_state (*state_of)(uint32_t worker),
				char ret_text[ADSM_PROCESS_TEXT]);
