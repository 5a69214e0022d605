/* SPDX-License-Identifier: MIT */
/* node/options.h - the command line of a node. */
#pragma once

#include "cluster/node/exchange/launch.h"
#include "cluster/node/pages/types.h"
#include "store/layout.h"

struct adsm_node_words {
	const char *connect, *token;	/* how node 0 connects to the application */
	uintptr_t base;			/* the arena */
	size_t size;
	unsigned threads;		/* threads that run kernels; 0: one for each processor */
	uint64_t timeout_ns;
	enum adsm_track track;
	bool tracked;			/* track even with only one node: the tracker was chosen by name */
	struct adsm_node_options options;
	/* For nodes that run tasks on cores with a local store. */
	bool tasks;
	struct adsm_scratchpad_geometry store;	/* only size and code */
	struct adsm_scratchpad_task task;
	uint32_t node_page;		/* bytes of a page between nodes */
	enum adsm_cluster_virtual virtual;
	uint32_t locality, n_frames;	/* as in struct adsm_hcrc_config; n_frames 0: frames for all pages */
};

extern struct adsm_node_words adsm_node_words;

/* Ends the program with an error message if the command line is invalid. */
void adsm_node_words_read(int argc, char **argv);
