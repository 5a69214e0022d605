/* SPDX-License-Identifier: MIT */
/*
 * shared.h - the cluster's part of the memory that the application and node 0 share, in adsm_process_shared.extra: what
 * the nodes are, the costs of launches, and which pages the application has changed since the last launch. Node and
 * application are built from the same version of this file and of shared.c.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/shared.h"
#include "store/sharing.h"

#define ADSM_CLUSTER_MAX_NODES 1024
#define ADSM_CLUSTER_TASK_NODES 64	/* maximum number of nodes that run tasks */
#define ADSM_CLUSTER_NODE_WORKERS 64	/* maximum number of a task's workers on a node */
/* As a slot's kernel: not a launch, but its messages to all nodes and back, for a benchmark. */
#define ADSM_CLUSTER_ECHO UINT32_MAX
#define ADSM_CLUSTER_HOST 64		/* bytes of a host's name, terminator included */

/* Cost models for the virtual time of tasks (ADSM_TASK_VIRTUAL). */
enum adsm_cluster_virtual { ADSM_CLUSTER_VIRTUAL_OFF, ADSM_CLUSTER_VIRTUAL_CELL, ADSM_CLUSTER_VIRTUAL_MODERN };

/* One node. Written before the start of the cluster has ended. */
struct adsm_cluster_node {
	char host[ADSM_CLUSTER_HOST];
	uint32_t cores, threads;
	uint32_t levels;		/* of its processors (base/processor.h) */
	char tracker[16];		/* how it detects writes; "" until that is known */
};

/* What is counted for a launch, summed over all nodes, in the order of the values: identifier, name, description. */
#define ADSM_CLUSTER_COUNTS(X) \
	X(PAGES_GLOBAL, pages_global, "pages of all objects, counted once for each call") \
	X(PAGES_MODIFIED, pages_modified, "pages that the kernel wrote") \
	X(PAGES_SINGLE, pages_single, "of pages_modified: pages that one node wrote") \
	X(PAGES_MULTI, pages_multi, "of pages_modified: pages that several nodes wrote") \
	X(PAGES_HOST, pages_host, "pages that the host wrote since the call before") \
	X(PAGES_UNWRITTEN, pages_unwritten, "pages of objects that are not input if the kernel wrote nothing to them") \
	X(PAGES_PUSHED, pages_pushed, "pages that other nodes than node 0 got after the kernel without a request") \
	X(PAGES_FETCHED, pages_fetched, "pages that nodes requested while the kernel ran") \
	X(WRITE_FAULTS, write_faults, "pages that nodes wrote, counted once for each node") \
	X(READ_FAULTS, read_faults, "times that a node waited for a page that it lacked") \
	X(MESSAGES, messages, "messages that contain only pages, or requests for pages") \
	X(BYTES, bytes, "bytes of these messages, and of pages in other messages") \
	X(IDLE, nodes_idle, "nodes that had no block, counted once for each call") \
	X(ALONE, calls_alone, "calls that node 0 ran alone, because of atomics, ordered accesses or services") \
	X(WORK_NS, work_ns, "time that nodes ran blocks, added up") \
	X(FETCH_NS, fetch_ns, "of work_ns: time that the threads of a node waited for pages, on average") \
	X(EXCHANGE_NS, exchange_ns, "time that nodes exchanged pages, before and after the kernel, added up") \
	X(WORKERS, workers, "tasks: workers of all calls") \
	X(LOCKS, locks, "tasks: locks acquired") \
	X(LOCK_WAITS, lock_waits, "tasks: of locks: acquisitions for which the worker slept") \
	X(LOCKS_GLOBAL, locks_global, "tasks: requests of nodes for a lock; all other locks stayed on their nodes") \
	X(BARRIERS, barriers, "tasks: barriers that all workers reached") \
	X(FLAGS, flags, "tasks: waits for flags") \
	X(FLAG_WAITS, flag_waits, "tasks: of flags: waits for which the worker slept") \
	X(READS, reads, "tasks: loads of workers; an access to two pages counts twice") \
	X(WRITES, writes, "tasks: stores of workers") \
	X(READ_MISSES, read_misses, "tasks: loads of pages that were not in the worker's local store") \
	X(WRITE_MISSES, write_misses, "tasks: stores to pages that were not in the worker's local store") \
	X(UPGRADES, upgrades, "tasks: stores to pages that were in the local store and had only been read") \
	X(SENT_ON_MISS, sent_on_miss, "tasks: dirty pages that were written back to make room") \
	X(SENT_ON_SYNC, sent_on_sync, "tasks: dirty pages written back at locks, barriers, flushes and the end") \
	X(GIVEN_UP, given_up, "tasks: pages given up at locks and barriers, because others had changed them") \
	X(SHARED_FALSELY, shared_falsely, "tasks: of given_up: changed only in parts the worker had not accessed") \
	X(NODE_READ_MISSES, node_read_misses, "tasks: of read_misses: those for which the node asked another node") \
	X(NODE_WRITE_MISSES, node_write_misses, "tasks: of write_misses: those for which the node asked another node") \
	X(NODE_UPGRADES, node_upgrades, "tasks: pages that a node had, and for which it asked the right to write") \
	X(NODE_DIFFS, node_diffs, "tasks: diffs of pages that nodes sent at the release of a lock and at barriers") \
	X(NODE_EARLY_DIFFS, node_early_diffs, "tasks: diffs sent earlier, because a page was old or its frame needed") \
	X(NODE_EVICTED, node_evicted, "tasks: pages that left a node's frames to make room") \
	X(NODE_MESSAGES, node_messages, "tasks: messages between nodes for pages, locks and barriers") \
	X(LOCK_WAIT_NS, lock_wait_ns, "tasks: time that workers slept for locks, added up") \
	X(BARRIER_WAIT_NS, barrier_wait_ns, "tasks: time that workers waited for others at barriers, added up") \
	X(FLAG_WAIT_NS, flag_wait_ns, "tasks: time that workers slept for flags, added up") \
	X(VIRTUAL_NS, virtual_ns, "tasks: time that they would take by the costs of ADSM_TASK_VIRTUAL")

enum {
#define ENUMERATOR(upper, name, help) ADSM_CLUSTER_##upper,
	ADSM_CLUSTER_COUNTS(ENUMERATOR)
#undef ENUMERATOR
	ADSM_CLUSTER_N_COUNTS
};

/* What one node did in a launch: it exchanged pages, ran blocks, and exchanged pages again. By the clock of node 0's
 * machine, which is also the application's machine. */
struct adsm_cluster_times {
	struct adsm_span before, work, after;
	uint64_t waited_ns;		/* how long its threads waited for pages during work, added up */
};

/* The costs of a launch. Node 0 writes them before the launch is done. If the launch is not counted, times are those of
 * node 0 alone, and unwritten pages are not counted. */
struct adsm_cluster_costs {
	/* Number of the launch; if it is another launch's number, the costs are unknown. */
	uint64_t seq;
	uint64_t counted;
	uint64_t start_ns;
	uint64_t values[ADSM_CLUSTER_N_COUNTS];
	struct adsm_cluster_times nodes[ADSM_CLUSTER_MAX_NODES];
};

struct adsm_cluster_shared {
	uint64_t n_pages;		/* of the arena */
	uint32_t n_nodes;
	char engine[128];		/* MPI's name and version */
	struct adsm_cluster_node nodes[ADSM_CLUSTER_MAX_NODES];
	_Atomic uint64_t heard_ns;	/* when node 0 last reported that it lives; 0: not yet */
	struct adsm_cluster_costs costs[ADSM_PROCESS_SLOTS];	/* one for each slot */
	struct adsm_sharings sharings;
	_Alignas(64) _Atomic uint32_t any;	/* the application has touched a page */
	/* Three bitmaps: groups of 4096 pages that contain touched ones; touched pages; allocated pages. */
	_Alignas(64) _Atomic uint64_t bits[];
};

/* Bytes for an arena of @arena_size bytes. The memory is sparse: parts that are never touched take none. */
size_t adsm_cluster_shared_size(size_t arena_size);

/* ---- pages are counted from the arena's start */

/* For the application: memory of an object is allocated; freed; or was written, and the bytes are there. May be called
 * by any thread, and in the fault handler. */
void adsm_cluster_allocated(struct adsm_cluster_shared *shared, uint64_t first, uint64_t n);
void adsm_cluster_freed(struct adsm_cluster_shared *shared, uint64_t first, uint64_t n);
void adsm_cluster_touched(struct adsm_cluster_shared *shared, uint64_t first, uint64_t n);

/*
 * For node 0: call @take with each run of touched pages, in ascending order, and clear the bits. A run is either all
 * allocated or all free. A page that is touched meanwhile is reported now or the next time, when its bytes are there.
 */
void adsm_cluster_collect(struct adsm_cluster_shared *shared,
			  void (*take)(void *arg, uint64_t first, uint64_t n, bool allocated), void *arg);
