/* SPDX-License-Identifier: MIT */
/*
 * node/exchange/plan.h - node 0 decides which pages go to which nodes, from what all nodes wrote and which nodes have
 * read it. Node 0 gets all pages. Depending on the kind of update, so do all other nodes, none, or the nodes that have
 * read a page since its last write.
 */
#pragma once

#include "cluster/node/net/runs.h"

/* How pages are sent that all nodes get. */
enum adsm_collective {
	ADSM_COLLECTIVE_ALLGATHERV,
	ADSM_COLLECTIVE_BCAST,			/* one broadcast for each node */
};

enum {
	ADSM_SEGMENT_SEVERAL = 1,	/* several nodes wrote it */
	ADSM_SEGMENT_PROBE = 2,		/* readers get it unmapped, so that its first touch is detected */
	ADSM_SEGMENT_ALL = 4,		/* all nodes get it */
};

/* A run of pages that are treated alike. */
struct adsm_segment {
	uint64_t first;
	uint32_t n;
	uint16_t writer;		/* node 0 if several nodes wrote it: node 0 has merged their changes */
	uint16_t flags;
	uint64_t readers;		/* nodes that get it: node r has bit r % 64; node 0 gets all */
};

struct adsm_segments {
	struct adsm_segment *v;
	size_t n, room;
};

/* Append a segment. It is joined to the last one if possible. */
void adsm_segments_add(struct adsm_segments *segments, struct adsm_segment segment);

static inline bool adsm_segment_goes_to(const struct adsm_segment *segment, int node)
{
	return node == 0 || (segment->flags & ADSM_SEGMENT_ALL) || (segment->readers >> node % 64 & 1);
}

enum adsm_update {
	ADSM_UPDATE_ADAPTIVE,
	ADSM_UPDATE_EAGER,
	ADSM_UPDATE_LAZY,
	ADSM_UPDATE_THRESHOLD,			/* lazy if more pages were written than the threshold, else eager */
};

struct adsm_plan_counts { uint64_t modified, single, multi, pushed; };

void adsm_plan_start(int n_nodes, uint64_t n_pages, enum adsm_update update, uint64_t threshold, unsigned probe_every);
/* A node has read these pages. */
void adsm_plan_read(int node, struct adsm_run run);
/* No node has these pages any more: they belong to no object, or to a new one. */
void adsm_plan_forget(struct adsm_run run);
/* Plan for pages that the host wrote. @out is cleared first. */
void adsm_plan_host(const struct adsm_run *v, size_t n, struct adsm_segments *out);
/* Plan for pages that kernels wrote, for each node. */
void adsm_plan_kernel(const struct adsm_runs *wrote, struct adsm_segments *out, struct adsm_plan_counts *ret_counts);
