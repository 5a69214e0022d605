/* SPDX-License-Identifier: MIT */
/*
 * node/exchange/exchange.h - exchanges pages between two launches. What one node wrote goes to node 0 and to the nodes
 * that read it, and becomes invalid on all others. All nodes get the same segments, and each does its part. For the
 * thread of comm.h.
 */
#pragma once

#include "cluster/node/net/comm.h"
#include "cluster/node/net/runs.h"
#include "plan.h"

/* ---- exchange.c */

/* The cost: all that one node sends to another, or to all, is one message. Diffs are not included. */
struct adsm_comm_traffic adsm_exchange_traffic(const struct adsm_segment *v, size_t n);
/* Do the exchange. @wrote: the pages that this node wrote, ascending. @untouched: an ascending set; pages that came
 * unmapped are added. */
void adsm_exchange(const struct adsm_segment *v, size_t n, const struct adsm_run *wrote, size_t n_wrote,
		   enum adsm_collective collective, struct adsm_runs *untouched);
/* The part of an exchange with pages that all nodes get, by collective operations of MPI. */
void adsm_exchange_collective(const struct adsm_segment *v, size_t n, enum adsm_collective collective);

/*
 * If only a few pages are exchanged, and node 0 has all of them, they are part of a letter of node 0. Pages: how many a
 * node gets. Put: node 0 appends them to @pack. Take: the other node takes them from *@at on, and does the rest of the
 * exchange.
 */
uint64_t adsm_exchange_pages(const struct adsm_segment *v, size_t n, int to);
void adsm_exchange_put(struct adsm_pack *pack, const struct adsm_segment *v, size_t n, int to);
void adsm_exchange_take(const struct adsm_letter *letter, size_t *at, const struct adsm_segment *v, size_t n,
			struct adsm_runs *untouched);

/* ---- move.c: pages go from alias to alias */

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

/* ---- diffs.c: node 0 combines pages that several nodes wrote in one launch */

/* All nodes: send the changes of this node to segments that several nodes wrote; node 0 combines them. */
void adsm_diffs_merge(const struct adsm_segment *v, size_t n, const struct adsm_run *wrote, size_t n_wrote);

/* Small sets of written pages are inline in DONE letters. This is the maximum of pages in all letters of a launch, and
 * in a letter to another node. */
#define ADSM_INLINE_PAGES 64

/* Other nodes: if this node wrote only a few pages, append all of them to @pack. Returns the number of bytes. */
size_t adsm_inline_put(struct adsm_pack *pack, const struct adsm_run *wrote, size_t n);
/* Node 0: keep the letter, which has @size bytes of pages from *@at on. */
void adsm_inline_keep(struct adsm_letter *letter, size_t *at, size_t size);
/* Node 0: write these bytes to the pages; or forget them. */
void adsm_inline_merge(void);
void adsm_inline_drop(void);

/* ---- sums.c */

/*
 * Plan an exchange as CUDA-For-Clusters does: each node has a vector with a number for each page of global memory, 1 if
 * it wrote the page. The sum of the vectors is the number of nodes that wrote each page. All nodes call this function
 * while no kernel runs. @global: the pages of all objects. @wrote, @n_wrote: the pages that this node wrote. @out gets
 * the pages to send, each with its writer and its receivers.
 */
void adsm_sums_plan(const struct adsm_runs *global, const struct adsm_run *wrote, size_t n_wrote,
		    struct adsm_segments *out, struct adsm_plan_counts *ret_counts);
