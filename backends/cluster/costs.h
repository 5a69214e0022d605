/* SPDX-License-Identifier: MIT */
/* costs.h - what a cluster counts itself of launches, as the library asks for it. */
#ifndef ADSM_CLUSTER_COSTS_H
#define ADSM_CLUSTER_COSTS_H

#include "backend.h"

extern const struct adsm_cost_ops adsm_cluster_costs;

#endif
