/* SPDX-License-Identifier: MIT */
/* node/exchange/launch.h - launches of a cluster. Node 0 sends the launch to all others. Each node runs its interval of
 * the grid and reports what it wrote, and pages are exchanged. Meanwhile node 0 sends pages to nodes that lack them. */
#pragma once

#include "cluster/shared.h"
#include "cluster/node/net/comm.h"
#include "plan.h"

struct adsm_node_options {
	enum adsm_update update;
	enum adsm_collective collective;
	/* Written pages are found by a sum over all pages; IN objects are treated like others. */
	bool paper;
	uint64_t threshold;		/* pages */
	unsigned probe_every;		/* after this number of pushes of a page, probe for readers */
	uint64_t n_pages;		/* of the arena */
};

/* A launch, as all nodes know it. */
struct adsm_node_launch {
	uint32_t kernel, n_args;
	uint32_t sets;			/* as in struct adsm_process_slot */
	uint32_t grid[3], block[3];
	uint64_t first_block, n_blocks;
	uint32_t alone;			/* only node 0 runs it */
	uint32_t counted;		/* the application will ask what each node did */
	uint32_t arg_bytes;
	uint32_t n_removed, n_added, n_read_only, n_pending, n_segments;
	uint32_t inline_pages;		/* 1: the segments' pages are in the letter; pending ones always are */
};

/* With its arguments, and this node's part of the grid. */
struct adsm_node_work {
	struct adsm_node_launch launch;
	const uint32_t *arg_offset;
	const uint8_t *args;		/* aligned to 64 bytes; valid until the launch has ended */
	uint64_t first, n;		/* blocks */
};

/* Functions of the code that runs kernels, for the exchange. */
struct adsm_node_calls {
	/* Start this node's part. The end of its last thread calls adsm_comm_wake(). A part without blocks starts
	 * nothing. */
	void (*begin)(const struct adsm_node_work *work);
	/* Has the part ended? Not called for a part without blocks. Called again before the DONE letter is sent. */
	bool (*has_ended)(void);
	/* Called between two checks for letters, for other work. */
	void (*poll)(void);
	/* Other nodes: does a task run? *ret_found is set if there was something to do for it; otherwise it is
	 * unchanged. */
	bool (*poll_task)(bool *ret_found);
	/* A letter that has nothing to do with pages: CODE, ANSWER, NOTE, ONCE, TASK…. Returns false if it is
	 * unknown. */
	bool (*letter)(struct adsm_letter *letter);
};

/* What the host has done since the last launch, and what this launch only reads; ascending. */
struct adsm_node_before {
	struct adsm_runs removed, added, written, read_only;
};

/* Counts of one launch, summed over all nodes. */
struct adsm_node_counts {
	uint64_t global, modified, single, multi, write_faults, read_faults, pushed, fetched;
	struct adsm_comm_traffic pages, control;	/* messages for pages; launches and other control messages */
	uint64_t kernel_ns, exchange_ns;	/* of the slowest node; of node 0 */
	/* One for each node, valid until the next launch; not counted: only node 0's. */
	const struct adsm_cluster_times *times;
};

/* The interval of the grid that a node runs. */
void adsm_node_interval(const struct adsm_node_launch *launch, int node, uint64_t *ret_first, uint64_t *ret_n);
void adsm_node_start(const struct adsm_node_options *options, const struct adsm_node_calls *calls);
/* Node 0, at any time: serve letters from other nodes. Returns whether there was one. */
bool adsm_node_poll(void);
/* Node 0: run a whole launch. Returns when node 0 has all that the launch wrote. */
void adsm_node_run(const struct adsm_node_work *work, const struct adsm_node_before *before,
		   struct adsm_node_counts *ret_counts);
/* Node 0: did the last launch write to one of these pages? */
bool adsm_node_wrote(struct adsm_run run);
/* Node 0: send and receive the messages of an empty launch. */
void adsm_node_echo(void);
/* Other nodes: take part until node 0 sends END. */
void adsm_node_serve(void);
