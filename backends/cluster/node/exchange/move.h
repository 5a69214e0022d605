/* SPDX-License-Identifier: MIT */
/* node/exchange/move.h - moves pages between the nodes of a cluster, from alias to alias. For the thread of comm.h. */
#pragma once

#include "cluster/node/net/comm.h"
#include "cluster/node/net/runs.h"

/* In an exchange: both ends name the same pages in the same order. All transfers run at the same time, until wait(). */
void adsm_move_send(int to, const struct adsm_runs *runs);
void adsm_move_receive(int from, const struct adsm_runs *runs);
void adsm_move_wait(void);

/* While kernels run: request pages from node 0. */
void adsm_move_fetch(struct adsm_run run);
/* Returns a run of requested pages that has come. */
bool adsm_move_fetched(struct adsm_run *ret_run);
size_t adsm_move_n_fetches(void);
/* Node 0: send pages as they were at the start of the launch. */
void adsm_move_serve(int to, struct adsm_run run);
