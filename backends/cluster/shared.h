/* SPDX-License-Identifier: MIT */
/*
 * shared.h - what the application and node 0 of a cluster have in memory that both map, behind that of a device
 * process: what the nodes are, what launches have cost, and which pages the application has changed since the last
 * launch. Node and application are built from the same version of this file and of shared.c.
 */
#ifndef ADSM_CLUSTER_SHARED_H
#define ADSM_CLUSTER_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/shared.h"
#include "store/sharing.h"

#define ADSM_CLUSTER_MAX_NODES 1024
#define ADSM_CLUSTER_TASK_NODES 64	/* at most, where nodes run tasks */
#define ADSM_CLUSTER_NODE_WORKERS 64	/* of a task, on each */
/* As a slot's kernel: no launch, but the messages of one, to all nodes and back. */
#define ADSM_CLUSTER_ECHO UINT32_MAX
#define ADSM_CLUSTER_HOST 64		/* bytes of a host's name, terminator included */

/* Costs by which the time of tasks is counted, too, by ADSM_TASK_VIRTUAL. */
enum adsm_cluster_virtual { ADSM_CLUSTER_VIRTUAL_OFF, ADSM_CLUSTER_VIRTUAL_CELL, ADSM_CLUSTER_VIRTUAL_MODERN };

/* One node, written before the cluster's start has ended. */
struct adsm_cluster_node {
	char host[ADSM_CLUSTER_HOST];
	uint32_t cores, threads;
	char tracker[16];		/* how its writes are seen; "" while that is not known */
};

/* What is counted of a launch, of all nodes together: in the order of the values, by name, in words. */
#define ADSM_CLUSTER_COUNTS(X) \
	X(PAGES_GLOBAL, pages_global, "pages of all objects there are, once for each call") \
	X(PAGES_MODIFIED, pages_modified, "of these the pages that were written") \
	X(PAGES_SINGLE, pages_single, "of these the pages that one node wrote") \
	X(PAGES_MULTI, pages_multi, "and those that several nodes wrote") \
	X(PAGES_HOST, pages_host, "pages that the host had written since the call before") \
	X(PAGES_UNWRITTEN, pages_unwritten, "pages of objects that it might write, and of which it wrote none") \
	X(PAGES_PUSHED, pages_pushed, "pages that nodes but node 0 were sent without asking, after it") \
	X(PAGES_FETCHED, pages_fetched, "pages that nodes asked for while they ran it") \
	X(WRITE_FAULTS, write_faults, "pages that nodes wrote, each counted once for each node") \
	X(READ_FAULTS, read_faults, "times that nodes waited for a page that they lacked") \
	X(MESSAGES, messages, "messages of pages alone, and those that ask for some") \
	X(BYTES, bytes, "bytes of these messages, and of pages in others") \
	X(IDLE, nodes_idle, "nodes that had no block to run, once for each call") \
	X(ALONE, calls_alone, "calls that node 0 ran alone, for atomics") \
	X(WORK_NS, work_ns, "time that nodes ran it, all added up") \
	X(FETCH_NS, fetch_ns, "of that, what a node's threads waited for pages, on an average") \
	X(EXCHANGE_NS, exchange_ns, "time that nodes exchanged pages, before and after it, all added up") \
	X(WORKERS, workers, "of tasks: workers of its calls") \
	X(LOCKS, locks, "locks taken") \
	X(LOCK_WAITS, lock_waits, "of these locks such as were waited for, asleep") \
	X(LOCKS_GLOBAL, locks_global, "times that a node asked for a lock: the others stayed on it") \
	X(BARRIERS, barriers, "barriers that all workers have come to") \
	X(READS, reads, "loads of its workers, those of two pages counted twice") \
	X(WRITES, writes, "and stores") \
	X(READ_MISSES, read_misses, "of the loads such as found no copy in the worker's local store") \
	X(WRITE_MISSES, write_misses, "and of the stores") \
	X(UPGRADES, upgrades, "stores to pages that were there and had only been read") \
	X(SENT_ON_MISS, sent_on_miss, "dirty pages that left a local store to make room") \
	X(SENT_ON_SYNC, sent_on_sync, "dirty pages that left one at locks, barriers, flushes and the end") \
	X(GIVEN_UP, given_up, "pages that others had changed, at locks and barriers") \
	X(SHARED_FALSELY, shared_falsely, "of these such as came back with nothing else where the worker had looked") \
	X(NODE_READ_MISSES, node_read_misses, "of the misses such as a node had to ask another one for, to read") \
	X(NODE_WRITE_MISSES, node_write_misses, "and to write") \
	X(NODE_UPGRADES, node_upgrades, "pages that a node had, and asked to write to") \
	X(NODE_DIFFS, node_diffs, "diffs of pages that nodes sent when a lock was given back, and at barriers") \
	X(NODE_EARLY_DIFFS, node_early_diffs, "and before: the page was old, or its frame was wanted") \
	X(NODE_EVICTED, node_evicted, "pages that left a node's frames to make room") \
	X(LOCK_WAIT_NS, lock_wait_ns, "time that workers waited for locks, asleep, all added up") \
	X(BARRIER_WAIT_NS, barrier_wait_ns, "and for others at barriers") \
	X(VIRTUAL_NS, virtual_ns, "time that tasks would take by the costs of ADSM_TASK_VIRTUAL")

enum {
#define ENUMERATOR(upper, name, help) ADSM_CLUSTER_##upper,
	ADSM_CLUSTER_COUNTS(ENUMERATOR)
#undef ENUMERATOR
	ADSM_CLUSTER_N_COUNTS
};

/* By the clock of node 0's machine, which is the application's. */
struct adsm_cluster_span { uint64_t start_ns, ns; };

/* What one node did in a launch: exchange, work, exchange. */
struct adsm_cluster_times {
	struct adsm_cluster_span before, work, after;
	uint64_t waited_ns;		/* for pages, meanwhile: of all its threads, added up */
};

/*
 * What a launch has cost. Written by node 0 before it is done. Where it was not to be counted, times are node 0's
 * alone, and nobody has looked for pages that were not written.
 */
struct adsm_cluster_costs {
	uint64_t seq;			/* its number; another one's: nothing is known of it */
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
	_Atomic uint64_t heard_ns;	/* when node 0 has last said that it lives; 0: not yet */
	struct adsm_cluster_costs costs[ADSM_PROCESS_SLOTS];	/* by slot */
	struct adsm_sharings sharings;
	_Alignas(64) _Atomic uint32_t any;	/* some page is touched */
	/* Then three bitmaps: groups of 4096 pages with touched ones, touched pages, allocated pages. */
	_Alignas(64) _Atomic uint64_t bits[];
};

/* Bytes that are needed for an arena of so many. Sparse: what is never touched costs nothing. */
size_t adsm_cluster_shared_size(size_t arena_size);

/* ---- pages are counted from the arena's start */

/*
 * The application: an object's memory begins; ends; and was written, its bytes being there. Any thread, and the fault
 * handler.
 */
void adsm_cluster_allocated(struct adsm_cluster_shared *shared, uint64_t first, uint64_t n);
void adsm_cluster_freed(struct adsm_cluster_shared *shared, uint64_t first, uint64_t n);
void adsm_cluster_touched(struct adsm_cluster_shared *shared, uint64_t first, uint64_t n);

/*
 * Node 0: all runs of touched pages, ascending, none of which is both of an object and not; from then on they are not
 * touched. What is touched meanwhile is among them or found the next time, its bytes by then being there.
 */
void adsm_cluster_collect(struct adsm_cluster_shared *shared,
			  void (*take)(void *arg, uint64_t first, uint64_t n, bool allocated), void *arg);

#endif
