/* SPDX-License-Identifier: MIT */
/* node/hcrc/hcrc_state.h - what a node, and the manager, know of pages, locks and workers: for hcrc_*.c, and tests. */
#pragma once

#include <assert.h>

#include "hcrc_types.h"

/* All state is 0 when a task begins. So a number that may be missing is stored as number + 1, and 0 means none. */

#define ADSM_HCRC_EARLY ADSM_HCRC_NONE	/* instead of a lock: a diff that was sent before a release */

enum adsm_hcrc_right { ADSM_HCRC_NO_RIGHT, ADSM_HCRC_MAY_READ, ADSM_HCRC_MAY_WRITE };
enum adsm_hcrc_wait { ADSM_HCRC_RUNS, ADSM_HCRC_FOR_PAGE, ADSM_HCRC_FOR_LOCK, ADSM_HCRC_FOR_FLAG, ADSM_HCRC_AT_BARRIER,
		      ADSM_HCRC_ENDED };

struct adsm_hcrc_list { uint32_t n, *at; };

struct adsm_hcrc_part {			/* of a page, for workers; sets of workers in bits */
	uint64_t readers;		/* workers that have a copy */
	uint64_t noticed;		/* workers whose copy is old and that must be told */
	uint64_t listed;		/* workers whose list of old parts contains the part */
};

struct adsm_hcrc_page {			/* sets of workers in bits */
	uint64_t want_read, want_write;	/* workers that wait for it */
	uint32_t newer, older;		/* neighbours in the order of use; + 1 */
	uint32_t twin;			/* first in the list of its twins, + 1 */
	uint8_t home;			/* + 1 */
	uint8_t right, asked;		/* enum adsm_hcrc_right: what the node has, and has requested */
	bool valid;
	bool stale;			/* the bytes that were requested will be too old when they come */
	bool changed;			/* in the list of pages for the next release */
};

struct adsm_hcrc_twin {
	uint32_t next, worker;		/* next + 1; worker + 1, or 0 for the node's twin */
	uint32_t part;			/* of a worker's twin, counted over all pages */
};

/* A lock on a node. The entries after the locks are operations on flags, one for each worker of the node. */
struct adsm_hcrc_lock {
	uint32_t n_grants;		/* grants since the lock came to this node, at most UINT32_MAX */
	uint32_t epoch;			/* of early diffs that must be in their pages before the lock leaves */
	uint32_t next;			/* in the list of what leaves, + 1 */
	uint8_t owner, first, last;	/* workers + 1: the holder; first and last that wait */
	uint8_t n_asked;		/* requests sent to the manager */
	bool here;
	bool wanted;			/* it is to leave. While it is free it leaves: no worker gets it here */
};

struct adsm_hcrc_worker {
	uint32_t n_locks;
	uint8_t waits;			/* enum adsm_hcrc_wait */
	uint8_t has;			/* it has the bytes of the part that it waits for */
	uint32_t part;			/* that it waits for, or has waited for last */
	uint8_t next;			/* in a lock's queue, + 1 */
	/* Operations on flags, as the kind of their message; 0: none. The first one is not done yet, and the worker
	 * waits until it may begin the second one. */
	uint8_t flag_kind, next_flag_kind;
	uint32_t flag, next_flag;
};

struct adsm_hcrc_entry {		/* of the global page table; sets of nodes in bits */
	uint64_t readers;		/* nodes that may have a copy */
	uint64_t noticed;		/* nodes whose copy is old and that must be told */
	uint64_t waiting;		/* nodes that wait until the home has the page */
	uint8_t home;			/* + 1 */
	bool moving;
};

/* The entries after the locks are the nodes' arrivals at the barrier, and then operations on flags, one for each worker
 * of all nodes. */
struct adsm_hcrc_global_lock {
	int32_t n_acks;			/* missing acknowledgements; negative: some came before the release */
	uint32_t first, last;		/* nodes that wait: index of waiters + 1 */
	uint32_t next;			/* + 1: the next release of the same node */
	uint8_t owner;			/* + 1 */
	uint8_t last_owner;
	bool releasing;
	bool recalled;			/* the owner knows that others wait */
};

struct adsm_hcrc_waiter { uint32_t next, node; };

struct adsm_hcrc_flag { uint32_t first; bool set; };	/* first: the operation of a worker that waits, + 1 */
struct adsm_hcrc_flag_op {			/* of a worker */
	uint32_t flag, next;			/* next: another one that waits for the flag, + 1 */
	uint8_t kind, node, worker;
};

struct adsm_hcrc_now {			/* state that does not belong to a page, a lock or a worker */
	uint32_t free_twin, newest, oldest;	/* + 1 */
	uint32_t n_kept;			/* frames in use or reserved */
	uint32_t at_barrier, n_ended;
	/* Early diffs that are not acknowledged yet, of this epoch and of the previous one. */
	uint32_t epoch, n_early[2];
	uint32_t leaving, last_leaving;		/* first and last in the list of what leaves, + 1 */
	bool arrived;
	uint32_t n_sent, n_taken;		/* number of messages, without probes */
	/* For the manager. */
	uint32_t free_waiter;			/* + 1 */
	uint32_t n_arrived, n_all_ended, n_done;
	uint32_t n_unknown;			/* nodes that have not answered the probe */
	uint32_t running, probed_sent, probed_taken;	/* sums over the nodes that have answered */
	uint32_t quiet_sent;			/* messages sent, at the last probe that found no activity */
	bool was_quiet;
	bool failed;
};

struct adsm_hcrc {
	struct adsm_hcrc_config config;
	struct adsm_hcrc_counts counts;
	/* All state except pages and counts is in one piece of memory. */
	uint8_t *state;
	size_t state_size;
	struct adsm_hcrc_now *now;
	uint32_t *sent, *taken;			/* numbers of messages, to and from each node */
	struct adsm_hcrc_page *pages;
	struct adsm_hcrc_part *parts;
	struct adsm_hcrc_twin *twins;
	uint8_t *twin_bytes;
	struct adsm_hcrc_lock *locks;
	struct adsm_hcrc_worker *workers;
	struct adsm_hcrc_list *changed, *notices;	/* notices: one list for each worker */
	struct adsm_hcrc_list *own;		/* pages whose home is this node */
	/* For the manager. */
	struct adsm_hcrc_entry *entries;
	struct adsm_hcrc_global_lock *global_locks;
	struct adsm_hcrc_waiter *waiters;
	struct adsm_hcrc_flag *flags;
	struct adsm_hcrc_flag_op *flag_ops;
	struct adsm_hcrc_list *old;		/* old pages: one list for each node */
	uint32_t *first_release, *last_release;	/* one for each node, + 1 */
	/* Buffers for messages. */
	struct adsm_hcrc_list *list;
	uint8_t *diff;
};

static inline uint32_t adsm_hcrc_n_workers(const struct adsm_hcrc *hcrc)
{
	return hcrc->config.workers[hcrc->config.self];
}

/* The number of workers on nodes before @node. If @node is the number of nodes: of all workers. */
static inline uint32_t adsm_hcrc_first_worker(const struct adsm_hcrc_config *config, uint32_t node)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < node; i++)
		n += config->workers[i];
	return n;
}

/* The number of the release by an operation on a flag: in messages, and at the manager. */
static inline uint32_t adsm_hcrc_flag_release(const struct adsm_hcrc_config *config, uint32_t node, uint32_t worker)
{
	return config->n_locks + config->n_nodes + adsm_hcrc_first_worker(config, node) + worker;
}

static inline bool adsm_hcrc_locks_stay(const struct adsm_hcrc *hcrc)
{
	return hcrc->config.locks_stay && hcrc->config.locality;
}

static inline uint8_t *adsm_hcrc_bytes(const struct adsm_hcrc *hcrc, uint32_t page)
{
	return hcrc->config.memory + (size_t)page * hcrc->config.page_size;
}

/* Parts of a page. */
static inline uint32_t adsm_hcrc_n_parts(const struct adsm_hcrc_config *config)
{
	return config->page_size / config->part_size;
}

static inline uint8_t *adsm_hcrc_part_bytes(const struct adsm_hcrc *hcrc, uint32_t part)
{
	return hcrc->config.memory + (size_t)part * hcrc->config.part_size;
}

static inline uint64_t adsm_hcrc_bit(uint32_t i)
{
	assert(i < 64);
	return UINT64_C(1) << i;
}

/* Remove and return the first element of a set. */
static inline uint32_t adsm_hcrc_pop(uint64_t *set)
{
	const uint32_t i = (uint32_t)__builtin_ctzll(*set);

	*set &= *set - 1;
	return i;
}

static inline void adsm_hcrc_push(struct adsm_hcrc_list *list, uint32_t page)
{
	list->at[list->n++] = page;
}

/* The caller has set the other members of @message. */
static inline void adsm_hcrc_send(struct adsm_hcrc *hcrc, uint32_t to, struct adsm_hcrc_message message,
				  const void *bytes)
{
	const bool counts = message.kind != ADSM_HCRC_PROBE && message.kind != ADSM_HCRC_STATE;

	message.from = (uint8_t)hcrc->config.self;
	message.to = (uint8_t)to;
	message.number = hcrc->sent[to]++;
	hcrc->now->n_sent += counts;
	hcrc->counts.messages += counts && to != hcrc->config.self;
	hcrc->config.send(hcrc->config.arg, &message, bytes);
}
