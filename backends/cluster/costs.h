/* SPDX-License-Identifier: MIT */
/* costs.h - the costs of launches that a cluster itself counts. */
#ifndef ADSM_CLUSTER_COSTS_H
#define ADSM_CLUSTER_COSTS_H

#include "backend.h"

extern const struct adsm_cost_ops adsm_cluster_costs;

#endif
