/* SPDX-License-Identifier: MIT */
/* cluster/options.h - options of the cluster backend. */
#pragma once

#include "base/options.h"

/* What a node is (ADSM_CLUSTER_NODE): the processors of a machine, or also cores with a local store. */
enum { ADSM_CLUSTER_CPU, ADSM_CLUSTER_SCRATCHPAD };

struct adsm_cluster_options {
	unsigned nodes;			/* ADSM_CLUSTER_NODES: number of nodes */
	unsigned node;			/* ADSM_CLUSTER_NODE: as above */
	/* ADSM_TASK_LOCK_LOCALITY: for each worker, how often a lock may be passed inside a node. */
	unsigned locality;
	unsigned virtual;		/* ADSM_TASK_VIRTUAL: enum adsm_cluster_virtual */
	/* ADSM_TASK_FRAMES: copies of other nodes' pages that a node keeps; 0: of all. */
	unsigned frames;
	uint64_t node_page;		/* ADSM_TASK_NODE_PAGE: bytes of a page between nodes; 0: as ADSM_TASK_PAGE */
	const char *hosts;		/* ADSM_CLUSTER_HOSTS: a list or a file, "": the launch command chooses */
	unsigned threads;		/* ADSM_CLUSTER_THREADS: for each node; 0: one per processor */
	/* ADSM_CLUSTER_MEMORY_SIZE: bytes; 0: half of the memory available on this machine. */
	uint64_t memory_size;
	const char *launch;		/* ADSM_CLUSTER_LAUNCH: the command that starts nodes, or a template for it */
	uint64_t lazy;			/* ADSM_CLUSTER_LAZY: with more modified pages the update is lazy */
	const char *update;		/* ADSM_CLUSTER_UPDATE: adaptive, eager, lazy, threshold */
	const char *exchange;		/* ADSM_CLUSTER_EXCHANGE: allgatherv, bcast */
	const char *tracker;		/* ADSM_CLUSTER_TRACKER: auto, sigsegv, uffd, off */
	unsigned timeout;		/* ADSM_CLUSTER_TIMEOUT: seconds */
	/* ADSM_CLUSTER_PROGRAM: the node program; "": the one installed with the library. */
	const char *program;
	const char *keeper;		/* ADSM_CLUSTER_KEEPER: the keeper; "": the one installed with the library */
};

extern struct adsm_cluster_options adsm_cluster_options;
