/* SPDX-License-Identifier: MIT */
/* node/hcrc/hcrc_types.h - types of hierarchical centralized release consistency (HCRC). This protocol makes stores of
 * a task's workers visible to its workers on other nodes (docs/tasks-hcrc.md). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_HCRC_NODES_MAX 64
#define ADSM_HCRC_WORKERS_MAX 64		/* on one node */
#define ADSM_HCRC_MANAGER 0			/* the manager's node */
#define ADSM_HCRC_NONE UINT32_MAX

enum adsm_hcrc_kind {
	/* To the manager: */
	ADSM_HCRC_ASK_READ = 1,			/* request for a page whose home the node does not know */
	ADSM_HCRC_ASK_WRITE,
	ADSM_HCRC_TAKEN,			/* the node is now the page's home */
	ADSM_HCRC_READ_ACK,			/* from a home: @node has got a copy, to read */
	ADSM_HCRC_WRITE_ACK,			/* from a home: @node has got a copy, to write */
	ADSM_HCRC_UPDATE_ACK,			/* from a home: @node's diff is in the page; @lock as in the diff */
	ADSM_HCRC_LOCK,
	ADSM_HCRC_UNLOCK,			/* bytes: list of the pages that the node has changed */
	/* An operation on the flag @page of the worker @count; @lock: the number of its release. */
	ADSM_HCRC_FLAG_SET,			/* bytes: list of the pages that the node has changed */
	ADSM_HCRC_FLAG_AWAIT,
	ADSM_HCRC_FLAG_CLEAR,
	/* At the barrier, bytes as for UNLOCK; @count: workers that have ended. */
	ADSM_HCRC_ARRIVE,
	ADSM_HCRC_BACK,				/* bytes: a page, from its home, after the task */
	ADSM_HCRC_DONE,				/* the node has sent all BACK messages */
	/* Answer to a probe: @count workers run, @page messages sent, @lock received. */
	ADSM_HCRC_STATE,
	ADSM_HCRC_FAIL,				/* the task cannot continue; @count: an errno */
	/* To a home: */
	ADSM_HCRC_READ,				/* @has: the node has the bytes */
	ADSM_HCRC_WRITE,
	/* @lock: the release that it belongs to; or EARLY, and then @count: the epoch. */
	ADSM_HCRC_DIFF,
	/* To a node: */
	/* The page's home is @node; if that is the receiver: bytes, unless it has them. */
	ADSM_HCRC_HOME,
	ADSM_HCRC_PAGE,				/* the bytes that were requested; none if the node has them */
	/* The manager knows of an early diff in its page; @count as in the diff. */
	ADSM_HCRC_EARLY_ACK,
	ADSM_HCRC_GRANT,			/* bytes: list of the pages that are old; @count: other nodes wait */
	ADSM_HCRC_RECALL,			/* other nodes wait for the lock that stays on the node */
	/* The operation on a flag is done; @has: the flag is set now by this worker. Bytes, if the worker waited for
	 * the flag: list of the pages that are old. */
	ADSM_HCRC_FLAG_DONE,
	ADSM_HCRC_DEPART,			/* from the barrier, bytes as for GRANT; @count: it was the last one */
	ADSM_HCRC_PROBE,
	ADSM_HCRC_FAILED,			/* the task cannot continue; @count: an errno */
	ADSM_HCRC_N_KINDS
};

struct adsm_hcrc_message {
	uint8_t kind, from, to, node, has, unused[3];
	uint32_t number;			/* counts the messages between these two nodes */
	uint32_t page, lock, count;
	uint32_t size;				/* number of bytes that follow */
};

struct adsm_hcrc_config {
	uint32_t self, n_nodes;
	/* Number of workers of each node; a node with 0 may have data, and the manager. */
	uint8_t workers[ADSM_HCRC_NODES_MAX];
	uint32_t n_pages, page_size;		/* bytes of a page: a multiple of 8, at most 32 KiB */
	/* Bytes of what workers copy: a page, or a part of it. Pages are whole parts, and a part is a multiple of 8. */
	uint32_t part_size;
	/* Pages of other homes that the node keeps; at least one for each worker. */
	uint32_t n_frames;
	uint32_t n_open;			/* parts that a worker may write to at the same time */
	uint32_t n_locks, n_flags;
	/* A lock stays on its node, also while it is free, until another node requests it. Else it leaves the node when
	 * it is released and no worker of the node waits for it, as in the paper. Ignored if @locality is 0. */
	bool locks_stay;
	/* For each worker, grants in a row on a node while other nodes wait; 0: each grant comes from the manager. */
	uint32_t locality;
	uint8_t *memory;			/* the pages; the manager's node begins with their contents */
	/* None of these functions may call anything of hcrc. */
	void *arg;
	/* For the manager: called when a page without a home is requested, possibly again: its bytes must be in memory
	 * now. NULL: they always are. */
	void (*fill)(void *arg, uint32_t page);
	/* Send a message to any node, including this one. The callee copies the bytes. */
	void (*send)(void *arg, const struct adsm_hcrc_message *message, const void *bytes);
	/* The worker's request for a part is done. @bytes is NULL if the worker has the bytes. */
	void (*page)(void *arg, uint32_t worker, uint32_t part, const uint8_t *bytes);
	/* The worker's lock, release, flag or barrier is done. */
	void (*go)(void *arg, uint32_t worker);
	/* All workers have ended, or the task has failed with a negative errno. On the manager's node all pages are in
	 * memory. */
	void (*ended)(void *arg, int status);
};

/* The columns of Table 6 in the paper, for one node. */
struct adsm_hcrc_counts {
	uint64_t read_misses, write_misses, upgrades;	/* requests to homes, or to the manager if a page has no home */
	uint64_t early_diffs, diffs;			/* diffs that were sent before a release; and by a release */
	uint64_t evicted;
	uint64_t barriers;				/* counted by the manager's node, which may have no worker */
	uint64_t locks, global_locks;			/* locks taken; and of these, requested from the manager */
	uint64_t messages;				/* sent to other nodes, without probes and their answers */
};
