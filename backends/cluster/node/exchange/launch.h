/* SPDX-License-Identifier: MIT */
/*
 * node/exchange/launch.h - launches of a cluster: node 0 tells all others, each runs its interval of the grid and says
 * what it wrote, and pages change hands. Meanwhile node 0 sends pages to who lacks them.
 */
#ifndef ADSM_CLUSTER_LAUNCH_H
#define ADSM_CLUSTER_LAUNCH_H

#include "cluster/shared.h"
#include "cluster/node/net/comm.h"
#include "plan.h"

struct adsm_node_options {
	enum adsm_update update;
	enum adsm_collective collective;
	bool paper;			/* a sum over all pages tells what was written; IN objects are as all others */
	uint64_t threshold;		/* pages */
	unsigned probe_every;		/* pushes of a page */
	uint64_t n_pages;		/* of the arena */
};

/* A launch as all nodes know it. */
struct adsm_node_launch {
	uint32_t kernel, n_args;
	uint32_t grid[3], block[3];
	uint64_t first_block, n_blocks;
	uint32_t alone;			/* node 0 runs it, the others none of it */
	uint32_t counted;		/* what each node did is asked for */
	uint32_t arg_bytes;
	uint32_t n_removed, n_added, n_read_only, n_pending, n_segments;
	uint32_t inside;		/* the segments' pages are in the letter; pending ones always are */
};

/* With its arguments, and this node's part of the grid. */
struct adsm_node_work {
	struct adsm_node_launch launch;
	const uint32_t *arg_offset;
	const uint8_t *args;		/* aligned to 64 bytes, until it has ended */
	uint64_t first, n;		/* blocks */
};

/* What the exchange asks of who runs kernels. */
struct adsm_node_calls {
	/* Start a part; the end of its last thread calls adsm_comm_wake(). Of no block: there will be none. */
	void (*begin)(const struct adsm_node_work *work);
	/* Not of a part of no block. It is asked again before the letter DONE goes. */
	bool (*has_ended)(void);
	/* Between two looks for letters: what else there is to do. */
	void (*look)(void);
	/* Another node's: does a task run? *ret_found: there was something to do for it; else as it was. */
	bool (*look_for_task)(bool *ret_found);
	/* One that has nothing to do with pages: CODE, ANSWER, NOTE, ONCE, TASK…. False: nor with this. */
	bool (*letter)(struct adsm_letter *letter);
};

/* What the host has done since the last launch, and what this one may only read; ascending. */
struct adsm_node_before {
	struct adsm_runs removed, added, written, read_only;
};

/* Of one launch, all nodes together. */
struct adsm_node_counts {
	uint64_t global, modified, single, multi, write_faults, read_faults, pushed, fetched;
	struct adsm_comm_traffic pages, control;	/* all that has to do with pages; launches and what they need */
	uint64_t kernel_ns, exchange_ns;	/* of the node that took longest; of node 0 */
	const struct adsm_cluster_times *times;	/* by node, until the next launch; not counted: of node 0 alone */
};

/* The interval of the grid that a node runs. */
void adsm_node_interval(const struct adsm_node_launch *launch, int node, uint64_t *ret_first, uint64_t *ret_n);
void adsm_node_start(const struct adsm_node_options *options, const struct adsm_node_calls *calls);
/* Node 0, at any time: what others have sent, if there is something. */
bool adsm_node_look(void);
/* Node 0: a whole launch; returns when all that it wrote is here. */
void adsm_node_run(const struct adsm_node_work *work, const struct adsm_node_before *before,
		   struct adsm_node_counts *ret_counts);
/* Node 0: has the last launch written to one of these pages? */
bool adsm_node_wrote(struct adsm_run run);
/* Node 0: the messages of a launch that does nothing, and no more. */
void adsm_node_echo(void);
/* Another node: take part until node 0 says that it was the last. */
void adsm_node_serve(void);

#endif
