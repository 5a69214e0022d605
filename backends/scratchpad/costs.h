/* SPDX-License-Identifier: MIT */
/* costs.h - the costs of launches that a scratchpad device itself counts. */
#ifndef ADSM_SCRATCHPAD_COSTS_H
#define ADSM_SCRATCHPAD_COSTS_H

#include "backend.h"

extern const struct adsm_cost_ops adsm_scratchpad_costs;

#endif
