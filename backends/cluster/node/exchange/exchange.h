/* SPDX-License-Identifier: MIT */
/*
 * node/exchange/exchange.h - exchanges pages between two launches. What one node wrote goes to node 0 and to the nodes
 * that read it, and becomes invalid on all others. All nodes get the same segments, and each does its part.
 */
#pragma once

#include "cluster/node/net/comm.h"
#include "plan.h"

/* The cost: all that one node sends to another, or to all, is one message. Diffs are not included. */
struct adsm_comm_traffic adsm_exchange_traffic(const struct adsm_segment *v, size_t n);
/* Do the exchange. @wrote: the pages that this node wrote, ascending. @unseen: runs that came unmapped are added. */
void adsm_exchange(const struct adsm_segment *v, size_t n, const struct adsm_run *wrote, size_t n_wrote,
		   enum adsm_collective collective, struct adsm_runs *unseen);

/*
 * If only a few pages are exchanged, and node 0 has all of them, they are part of a letter of node 0. Pages: how many a
 * node gets. Put: node 0 appends them to @pack. Take: the other node takes them from *@at on, and does the rest of the
 * exchange.
 */
uint64_t adsm_exchange_pages(const struct adsm_segment *v, size_t n, int to);
void adsm_exchange_put(struct adsm_pack *pack, const struct adsm_segment *v, size_t n, int to);
void adsm_exchange_take(const struct adsm_letter *letter, size_t *at, const struct adsm_segment *v, size_t n,
			struct adsm_runs *unseen);

/* ---- Pages that all nodes get, by collective operations of MPI */

void adsm_collect(const struct adsm_segment *v, size_t n, enum adsm_collective collective);
