/* SPDX-License-Identifier: MIT */
/* costs.h - the costs of launches that a scratchpad device itself counts. */
#pragma once

#include "backend.h"

extern const struct adsm_cost_ops adsm_scratchpad_costs;
