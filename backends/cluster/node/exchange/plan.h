/* SPDX-License-Identifier: MIT */
/*
 * node/exchange/plan.h - node 0's choice of what goes where: from what all nodes wrote, and from who has read it. Node
 * 0 gets all; beside it, by the kind of update, everybody, nobody, or the nodes that have read a page since its last
 * write.
 */
#ifndef ADSM_CLUSTER_PLAN_H
#define ADSM_CLUSTER_PLAN_H

#include "cluster/node/net/runs.h"

/* How pages go that all get. */
enum adsm_collective {
	ADSM_COLLECTIVE_ALLGATHERV,
	ADSM_COLLECTIVE_BCAST,			/* one for each node */
};

enum {
	ADSM_SEGMENT_SEVERAL = 1,	/* nodes wrote it */
	ADSM_SEGMENT_PROBE = 2,		/* readers get it unmapped, so that its first touch is seen */
	ADSM_SEGMENT_ALL = 4,		/* nodes get it */
};

/* Pages that are treated alike. */
struct adsm_segment {
	uint64_t first;
	uint32_t n;
	uint16_t writer;		/* node 0 where several wrote: it has them merged */
	uint16_t flags;
	uint64_t readers;		/* nodes that get it, by bits; node r has bit r % 64; node 0 gets all */
};

struct adsm_segments {
	struct adsm_segment *v;
	size_t n, room;
};

/* One more, joined to the last where that is alike. */
void adsm_segments_add(struct adsm_segments *segments, struct adsm_segment segment);

static inline bool adsm_segment_goes_to(const struct adsm_segment *segment, int node)
{
	return node == 0 || (segment->flags & ADSM_SEGMENT_ALL) || (segment->readers >> node % 64 & 1);
}

enum adsm_update {
	ADSM_UPDATE_ADAPTIVE,
	ADSM_UPDATE_EAGER,
	ADSM_UPDATE_LAZY,
	ADSM_UPDATE_THRESHOLD,			/* lazy where more pages were written than the threshold, else eager */
};

struct adsm_plan_counts { uint64_t modified, single, multi, pushed; };

void adsm_plan_start(int n_nodes, uint64_t n_pages, enum adsm_update update, uint64_t threshold, unsigned probe_every);
/* A node has read pages. */
void adsm_plan_read(int node, struct adsm_run run);
/* Nobody has pages any more: they belong to no object, or to a new one. */
void adsm_plan_forget(struct adsm_run run);
/* What the host wrote. @out is cleared first. */
void adsm_plan_host(const struct adsm_run *v, size_t n, struct adsm_segments *out);
/* What kernels wrote, by node. */
void adsm_plan_kernel(const struct adsm_runs *wrote, struct adsm_segments *out, struct adsm_plan_counts *ret_counts);

#endif
