/* SPDX-License-Identifier: MIT */
/*
 * node/exchange/paper.h - who wrote what, as CUDA-For-Clusters finds it: each node has a vector with a number for each
 * page of global memory, 1 where it wrote the page, and their sum says how many nodes did.
 */
#ifndef ADSM_CLUSTER_PAPER_H
#define ADSM_CLUSTER_PAPER_H

#include "plan.h"

/* All nodes, when none computes: what was written, by which node, and what goes where. */
void adsm_paper_plan(const struct adsm_runs *global, const struct adsm_run *wrote, size_t n_wrote,
		     struct adsm_segments *out, struct adsm_plan_counts *ret_counts);

#endif
