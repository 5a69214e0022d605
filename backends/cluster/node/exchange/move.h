/* SPDX-License-Identifier: MIT */
/* node/exchange/move.h - pages between the nodes of a cluster, from alias to alias. For the thread of comm.h. */
#ifndef ADSM_CLUSTER_MOVE_H
#define ADSM_CLUSTER_MOVE_H

#include "cluster/node/net/comm.h"
#include "cluster/node/net/runs.h"

/* In an exchange. Both ends name the same pages in the same order; all go at once, until wait(). */
void adsm_move_send(int to, const struct adsm_runs *runs);
void adsm_move_receive(int from, const struct adsm_runs *runs);
void adsm_move_wait(void);

/* While kernels run: have pages sent by node 0. */
void adsm_move_fetch(struct adsm_run run);
/* Pages that were asked for and have come. */
bool adsm_move_fetched(struct adsm_run *ret_run);
size_t adsm_move_n_fetches(void);
/* Node 0: pages as they were at the launch's start. */
void adsm_move_serve(int to, struct adsm_run run);

#endif
