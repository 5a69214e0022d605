/* SPDX-License-Identifier: MIT */
/* costs.h - what a scratchpad device counts itself of launches, as the library asks for it. */
#ifndef ADSM_SCRATCHPAD_COSTS_H
#define ADSM_SCRATCHPAD_COSTS_H

#include "backend.h"

extern const struct adsm_cost_ops adsm_scratchpad_costs;

#endif
