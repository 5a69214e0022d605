/* SPDX-License-Identifier: MIT */
/*
 * shared.h - what the application and node 0 of a cluster have in memory that both map, behind that of a device
 * process: what the nodes are, counters, and which pages the application has changed since the last launch. Node and
 * application are built from the same version of this file and of shared.c.
 */
#ifndef ADSM_CLUSTER_SHARED_H
#define ADSM_CLUSTER_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_CLUSTER_MAX_NODES 1024
#define ADSM_CLUSTER_MAX_KERNELS 1024
#define ADSM_CLUSTER_HOST 64		/* bytes of a host's name, terminator included */

/* One node, written before the cluster's start has ended. */
struct adsm_cluster_node {
	char host[ADSM_CLUSTER_HOST];
	uint32_t cores, threads;
	char tracker[16];		/* how its writes are seen; "" while that is not known */
};

/* What launches of one kernel have cost so far, on all nodes together. Written by node 0. */
struct adsm_cluster_counts {
	char kernel[64];		/* "": not used */
	uint64_t launches;
	uint64_t pages_global, pages_modified, pages_single, pages_multi;
	uint64_t write_faults, read_faults;
	uint64_t messages, bytes;	/* of the exchange */
	uint64_t pushed, fetched;	/* pages */
	uint64_t kernel_ns, exchange_ns;
};

struct adsm_cluster_shared {
	uint64_t n_pages;		/* of the arena */
	uint32_t n_nodes;
	char engine[128];		/* MPI's name and version */
	struct adsm_cluster_node nodes[ADSM_CLUSTER_MAX_NODES];
	struct adsm_cluster_counts counts[ADSM_CLUSTER_MAX_KERNELS];
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
