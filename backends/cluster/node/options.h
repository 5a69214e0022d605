/* SPDX-License-Identifier: MIT */
/* node/options.h - what a node is told on its command line. */
#ifndef ADSM_CLUSTER_NODE_OPTIONS_H
#define ADSM_CLUSTER_NODE_OPTIONS_H

#include "cluster/node/exchange/launch.h"
#include "cluster/node/pages/types.h"
#include "store/layout.h"

struct adsm_node_words {
	const char *connect, *token;	/* where node 0 finds the application */
	uintptr_t base;			/* the arena */
	size_t size;
	unsigned threads;		/* that run kernels; 0: one for each processor */
	uint64_t timeout_ns;
	enum adsm_track track;
	bool tracked;			/* also where there is one node: asked for by name */
	struct adsm_node_options options;
	/* Where nodes run tasks, on cores with a local store. */
	bool tasks;
	struct adsm_scratchpad_geometry store;	/* its size and code alone */
	struct adsm_scratchpad_task task;
	enum adsm_cluster_virtual virtual;
	uint32_t locality, n_frames;	/* as struct adsm_hcrc_config; frames 0: for all pages */
};

extern struct adsm_node_words adsm_node_words;

/* Ends the program with a sentence where they are not as they should be. */
void adsm_node_words_read(int argc, char **argv);

#endif
