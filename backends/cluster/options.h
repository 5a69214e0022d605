/* SPDX-License-Identifier: MIT */
/* cluster/options.h - options of the cluster backend. */
#ifndef ADSM_CLUSTER_OPTIONS_H
#define ADSM_CLUSTER_OPTIONS_H

#include "base/options.h"

/* What a node is: the processors of a machine, or such with local stores, by ADSM_CLUSTER_NODE. */
enum { ADSM_CLUSTER_CPU, ADSM_CLUSTER_SCRATCHPAD };

struct adsm_cluster_options {
	unsigned nodes;			/* ADSM_CLUSTER_NODES: how many */
	unsigned node;			/* ADSM_CLUSTER_NODE: as above */
	unsigned locality;		/* ADSM_TASK_LOCK_LOCALITY: grants for each worker that stay on a node */
	unsigned virtual;		/* ADSM_TASK_VIRTUAL: enum adsm_cluster_virtual */
	unsigned frames;		/* ADSM_TASK_FRAMES: pages of others that a node keeps; 0: all */
	const char *hosts;		/* ADSM_CLUSTER_HOSTS: a list or a file, "": the launch command chooses */
	unsigned threads;		/* ADSM_CLUSTER_THREADS: of each node, 0: one per processor */
	uint64_t memory_size;		/* ADSM_CLUSTER_MEMORY_SIZE: bytes, 0: half of what is available here */
	const char *launch;		/* ADSM_CLUSTER_LAUNCH: the command that starts nodes, or a template of one */
	uint64_t lazy;			/* ADSM_CLUSTER_LAZY: modified pages above which the exchange is lazy */
	const char *update;		/* ADSM_CLUSTER_UPDATE: adaptive, eager, lazy, threshold */
	const char *exchange;		/* ADSM_CLUSTER_EXCHANGE: allgatherv, bcast */
	const char *tracker;		/* ADSM_CLUSTER_TRACKER: auto, sigsegv, uffd, off */
	unsigned timeout;		/* ADSM_CLUSTER_TIMEOUT: seconds */
	const char *program;		/* ADSM_CLUSTER_PROGRAM: the node program, "" beside the library */
	const char *keeper;		/* ADSM_CLUSTER_KEEPER: the keeper, "" beside the library */
};

extern struct adsm_cluster_options adsm_cluster_options;

#endif
