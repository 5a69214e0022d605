/* SPDX-License-Identifier: MIT */
/*
 * node/hcrc/hcrc_types.h - words of hierarchical centralized release consistency: how the workers of a task on several
 * nodes see each other's stores (docs/tasks.md).
 */
#ifndef ADSM_CLUSTER_HCRC_TYPES_H
#define ADSM_CLUSTER_HCRC_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_HCRC_NODES_MAX 64
#define ADSM_HCRC_WORKERS_MAX 64		/* of a node */
#define ADSM_HCRC_MANAGER 0			/* the node that has it */
#define ADSM_HCRC_NONE UINT32_MAX

enum adsm_hcrc_kind {
	/* To the manager. */
	ADSM_HCRC_ASK_READ = 1,			/* a page whose home the node does not know */
	ADSM_HCRC_ASK_WRITE,
	ADSM_HCRC_TAKEN,			/* the node is the page's home from now on */
	ADSM_HCRC_READ_ACK,			/* a home: @node has got a copy, to read */
	ADSM_HCRC_WRITE_ACK,			/* or to write */
	ADSM_HCRC_UPDATE_ACK,			/* a home: @node's diff is in the page; @lock as in the diff */
	ADSM_HCRC_LOCK,
	ADSM_HCRC_UNLOCK,			/* bytes: the pages that the node has changed */
	ADSM_HCRC_ARRIVE,			/* the same, at the barrier; @count: workers that have ended */
	ADSM_HCRC_BACK,				/* bytes: a page, from its home, when the task is over */
	ADSM_HCRC_DONE,				/* and there are no more */
	ADSM_HCRC_STATE,			/* to a probe: @count workers run, @page messages sent, @lock taken */
	ADSM_HCRC_FAIL,				/* the task cannot go on; @count: an errno */
	/* To a home. */
	ADSM_HCRC_READ,				/* @has: the node has the bytes */
	ADSM_HCRC_WRITE,
	ADSM_HCRC_DIFF,				/* @lock: which release it belongs to; or an early one's, @count */
	/* To a node. */
	ADSM_HCRC_HOME,				/* of a page, is @node; if that asked: bytes, unless it has them */
	ADSM_HCRC_PAGE,				/* the bytes of what was asked for; none, if it had them */
	ADSM_HCRC_EARLY_ACK,			/* the manager knows that a diff is in its page; @count as in it */
	ADSM_HCRC_GRANT,			/* bytes: the pages that are old */
	ADSM_HCRC_DEPART,			/* the same, from the barrier; @count: it was the last one */
	ADSM_HCRC_PROBE,
	ADSM_HCRC_FAILED,			/* the task cannot go on; @count: an errno */
	ADSM_HCRC_N_KINDS
};

struct adsm_hcrc_message {
	uint8_t kind, from, to, node, has, unused[3];
	uint32_t number;			/* of those from and to the same nodes */
	uint32_t page, lock, count;
	uint32_t size;				/* bytes that come with it */
};

struct adsm_hcrc_config {
	uint32_t self, n_nodes;
	uint8_t workers[ADSM_HCRC_NODES_MAX];	/* how many each node has; 0: it has data, and the manager perhaps */
	uint32_t n_pages, page_size;		/* a number of 8 bytes, 32 KiB at most */
	uint32_t n_frames;			/* pages of other homes that it keeps; one for each worker, or more */
	uint32_t n_open;			/* pages that a worker may write to at a time */
	uint32_t n_locks;
	uint32_t locality;			/* so many grants for each worker stay on the node; 0: all come anew */
	uint8_t *memory;			/* the pages; on the manager's node with what is in them */
	/* None of these calls anything here. */
	void *arg;
	/* The manager's: a page is asked for that is nobody's, perhaps again: now it has to be there. NULL: all are. */
	void (*fill)(void *arg, uint32_t page);
	/* To any node, this one included. The bytes are to be copied. */
	void (*send)(void *arg, const struct adsm_hcrc_message *message, const void *bytes);
	/* What the worker has asked for; NULL where it has the bytes. */
	void (*page)(void *arg, uint32_t worker, uint32_t page, const uint8_t *bytes);
	/* The worker's lock, release or barrier is done. */
	void (*go)(void *arg, uint32_t worker);
	/* All workers have, or the task has failed, by a negative errno. On the manager's node all pages are there. */
	void (*ended)(void *arg, int status);
};

/* The columns of the paper's Table 6, of a node. */
struct adsm_hcrc_counts {
	uint64_t read_misses, write_misses, upgrades;	/* asked of homes, or of the manager where there is none */
	uint64_t early_diffs, diffs;			/* sent before a release, and by one */
	uint64_t evicted;
	uint64_t barriers;
	uint64_t locks, global_locks;			/* taken; of these, those that were asked for at the manager */
};

#endif
