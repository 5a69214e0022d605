/* SPDX-License-Identifier: MIT */
/* node/segment.c - lists of segments. */
#include "segment.h"

void adsm_segments_add(struct adsm_segments *segments, struct adsm_segment segment)
{
	if (segments->n) {
		struct adsm_segment *last = &segments->v[segments->n - 1];

		if (last->first + last->n == segment.first && last->writer == segment.writer &&
		    last->flags == segment.flags && last->readers == segment.readers &&
		    last->n < UINT32_MAX - segment.n) {
			last->n += segment.n;
			return;
		}
	}
	if (segments->n == segments->room) {
		segments->room = segments->room ? 2 * segments->room : 64;
		segments->v = adsm_node_memory(segments->v, segments->room * sizeof(*segments->v));
	}
	segments->v[segments->n++] = segment;
}
