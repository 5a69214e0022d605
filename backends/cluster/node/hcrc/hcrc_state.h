/* SPDX-License-Identifier: MIT */
/* node/hcrc/hcrc_state.h - what a node, and the manager, know of pages, locks and workers: for hcrc_*.c, and tests. */
#ifndef ADSM_CLUSTER_HCRC_STATE_H
#define ADSM_CLUSTER_HCRC_STATE_H

#include "hcrc_types.h"

/* All is 0 when a task begins: so what is no number but may be none is one more than it is. */

#define ADSM_HCRC_EARLY ADSM_HCRC_NONE	/* instead of a lock: a diff that no release has asked for */

enum adsm_hcrc_right { ADSM_HCRC_NO_RIGHT, ADSM_HCRC_MAY_READ, ADSM_HCRC_MAY_WRITE };
enum adsm_hcrc_wait { ADSM_HCRC_RUNS, ADSM_HCRC_FOR_PAGE, ADSM_HCRC_FOR_LOCK, ADSM_HCRC_FOR_DIFFS, ADSM_HCRC_AT_BARRIER,
		      ADSM_HCRC_ENDED };

struct adsm_hcrc_list { uint32_t n, *at; };

struct adsm_hcrc_page {			/* sets are of workers */
	uint64_t readers;		/* have a copy */
	uint64_t noticed;		/* whose copy is old: they are to hear of it */
	uint64_t listed;		/* in whose list of such pages it is */
	uint64_t want_read, want_write;	/* wait for it */
	uint32_t newer, older;		/* used; + 1 */
	uint32_t twin;			/* + 1, the first of its twins */
	uint8_t home;			/* + 1 */
	uint8_t right, asked;		/* enum adsm_hcrc_right: what the node has been given, and has asked for */
	bool valid;
	bool stale;			/* what was asked for will be too old when it comes */
	bool changed;			/* in the list of pages that the next release is about */
};

struct adsm_hcrc_twin { uint32_t next, worker; };	/* next + 1; worker + 1, or 0: the node's own */

struct adsm_hcrc_lock {			/* of a node */
	uint32_t n_grants;		/* since it is here */
	uint8_t owner, first, last;	/* workers + 1: who has it, who waits */
	uint8_t n_asked;		/* requests at the manager */
	bool here;
};

struct adsm_hcrc_worker {
	uint32_t lock, epoch;		/* while it waits */
	uint32_t n_locks;
	uint8_t waits;			/* enum adsm_hcrc_wait */
	uint8_t has;			/* the bytes of the page that it waits for */
	uint8_t next;			/* in a lock's queue, + 1 */
};

struct adsm_hcrc_entry {		/* of the global page table; sets are of nodes */
	uint64_t readers;		/* may have a copy */
	uint64_t noticed;		/* whose copy is old: they are to hear of it */
	uint64_t waiting;		/* for its home to have it */
	uint8_t home;			/* + 1 */
	bool moving;
};

struct adsm_hcrc_global_lock {		/* behind the locks stand the nodes' arrivals at the barrier */
	int32_t n_acks;			/* that are missing; below 0: have come before the release */
	uint32_t first, last;		/* waiters + 1 */
	uint32_t next;			/* + 1: given back after it by the same node */
	uint8_t owner;			/* + 1 */
	uint8_t last_owner;
	bool releasing;
};

struct adsm_hcrc_waiter { uint32_t next, node; };

struct adsm_hcrc_now {			/* what is neither of a page, nor of a lock or a worker */
	uint32_t free_twin, newest, oldest;	/* + 1 */
	uint32_t n_kept;			/* frames in use, or promised */
	uint32_t at_barrier, n_ended;
	/* Early diffs that are not known to be in their pages, of this epoch and the last one. */
	uint32_t epoch, n_early[2];
	bool arrived;
	uint32_t n_sent, n_taken;		/* messages, but for probes */
	/* The manager's. */
	uint32_t free_waiter;			/* + 1 */
	uint32_t n_arrived, n_all_ended, n_done;
	uint32_t n_unknown;			/* nodes that have not answered the probe */
	uint32_t running, probed_sent, probed_taken;	/* what those that have have said, in all */
	uint32_t quiet_sent;			/* messages, when it was quiet last */
	bool was_quiet;
	bool failed;
};

struct adsm_hcrc {
	struct adsm_hcrc_config config;
	struct adsm_hcrc_counts counts;
	/* All that changes, but for the pages and what it counts, in one piece of memory. */
	uint8_t *state;
	size_t state_size;
	struct adsm_hcrc_now *now;
	uint32_t *sent, *taken;			/* messages, to and from each node */
	struct adsm_hcrc_page *pages;
	struct adsm_hcrc_twin *twins;
	uint8_t *twin_bytes;
	struct adsm_hcrc_lock *locks;
	struct adsm_hcrc_worker *workers;
	struct adsm_hcrc_list *changed, *notices;	/* the latter one for each worker */
	struct adsm_hcrc_list *own;		/* pages whose home this is */
	/* The manager's. */
	struct adsm_hcrc_entry *entries;
	struct adsm_hcrc_global_lock *global_locks;
	struct adsm_hcrc_waiter *waiters;
	struct adsm_hcrc_list *old;		/* pages, one list for each node */
	uint32_t *first_release, *last_release;	/* of each node, + 1 */
	/* Room for what is sent. */
	struct adsm_hcrc_list *list;
	uint8_t *diff;
};

static inline uint32_t adsm_hcrc_n_workers(const struct adsm_hcrc *hcrc)
{
	return hcrc->config.workers[hcrc->config.self];
}

static inline uint8_t *adsm_hcrc_bytes(const struct adsm_hcrc *hcrc, uint32_t page)
{
	return hcrc->config.memory + (size_t)page * hcrc->config.page_size;
}

static inline uint64_t adsm_hcrc_bit(uint32_t i)
{
	return UINT64_C(1) << i;
}

/* The first of a set, which is taken out of it. */
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

/* The rest of @message is set. */
static inline void adsm_hcrc_send(struct adsm_hcrc *hcrc, uint32_t to, struct adsm_hcrc_message message,
				  const void *bytes)
{
	message.from = (uint8_t)hcrc->config.self;
	message.to = (uint8_t)to;
	message.number = hcrc->sent[to]++;
	hcrc->now->n_sent += message.kind != ADSM_HCRC_PROBE && message.kind != ADSM_HCRC_STATE;
	hcrc->config.send(hcrc->config.arg, &message, bytes);
}

#endif
