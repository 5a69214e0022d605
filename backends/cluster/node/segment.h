/* SPDX-License-Identifier: MIT */
/* node/segment.h - pages of which one node has the bytes that others are to get. */
#ifndef ADSM_CLUSTER_SEGMENT_H
#define ADSM_CLUSTER_SEGMENT_H

#include "runs.h"

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

#endif
