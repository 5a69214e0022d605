/* SPDX-License-Identifier: MIT */
/* process/costs.h - what a device process counts of tasks. */
#ifndef ADSM_PROCESS_COSTS_H
#define ADSM_PROCESS_COSTS_H

#include "backend.h"

/* Of a backend whose devices run tasks, and count nothing of other launches. */
extern const struct adsm_cost_ops adsm_process_costs;
/* What there is to say of a task's locks, of which so many were waited for; "": nothing. */
void adsm_process_advise_locks(uint64_t locks, uint64_t waits, char *ret_text, size_t size);

#endif
