/* SPDX-License-Identifier: MIT */
/*
 * node/exchange/paper.h - finds which node wrote which page as CUDA-For-Clusters does: each node has a vector with a
 * number for each page of global memory, 1 if it wrote the page. The sum of the vectors is the number of nodes that
 * wrote each page.
 */
#pragma once

#include "plan.h"

/*
 * Plan an exchange. All nodes call this function while no kernel runs. @global: the pages of all objects. @wrote,
 * @n_wrote: the pages that this node wrote. @out gets the pages to send, each with its writer and its receivers.
 */
void adsm_paper_plan(const struct adsm_runs *global, const struct adsm_run *wrote, size_t n_wrote,
		     struct adsm_segments *out, struct adsm_plan_counts *ret_counts);
