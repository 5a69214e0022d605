/* SPDX-License-Identifier: MIT */
/* task_flag.h - the flags of tasks, identified by numbers. */
#pragma once

#include "task_crew.h"

/* A flag's word is adsm_task.flags + 0 (clear), + 1 (set), + 2 (workers wait); any other value means clear. */
#define ADSM_TASK_FLAG_STATES 4

/* None of these functions returns if the task has failed. */
void adsm_task_set_flag(struct adsm_task_worker *worker, uint32_t id);
void adsm_task_await_flag(struct adsm_task_worker *worker, uint32_t id);
void adsm_task_clear_flag(struct adsm_task_worker *worker, uint32_t id);
