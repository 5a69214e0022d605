/* SPDX-License-Identifier: MIT */
/*
 * node/exchange/exchange.h - pages change hands between two launches: what one node wrote goes to node 0 and to those
 * that read it, and is invalid on all others. All nodes are given the same segments, and each does its part.
 */
#ifndef ADSM_CLUSTER_EXCHANGE_H
#define ADSM_CLUSTER_EXCHANGE_H

#include "cluster/node/net/comm.h"
#include "plan.h"

/* What it costs: a message is all that one node sends to another, or to all. Without diffs. */
struct adsm_comm_traffic adsm_exchange_traffic(const struct adsm_segment *v, size_t n);
/*
 * The exchange. @wrote: what this node wrote, ascending. @unseen: runs that came unmapped are added.
 */
void adsm_exchange(const struct adsm_segment *v, size_t n, const struct adsm_run *wrote, size_t n_wrote,
		   enum adsm_collective collective, struct adsm_runs *unseen);

/*
 * Few pages, all of which node 0 has, go inside of a letter of its. How many a node gets; node 0: put them behind what
 * is in @pack; the other one: take them, *@at being where they begin, and do for these segments as an exchange does.
 */
uint64_t adsm_exchange_pages(const struct adsm_segment *v, size_t n, int to);
void adsm_exchange_put(struct adsm_pack *pack, const struct adsm_segment *v, size_t n, int to);
void adsm_exchange_take(const struct adsm_letter *letter, size_t *at, const struct adsm_segment *v, size_t n,
			struct adsm_runs *unseen);

/* ---- pages that all nodes get, by collective operations of MPI */

void adsm_collect(const struct adsm_segment *v, size_t n, enum adsm_collective collective);

#endif
