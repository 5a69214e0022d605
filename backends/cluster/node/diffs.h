/* SPDX-License-Identifier: MIT */
/* node/diffs.h - pages that several nodes wrote in one launch come together on node 0; and so do few pages. */
#ifndef ADSM_CLUSTER_DIFFS_H
#define ADSM_CLUSTER_DIFFS_H

#include "pack.h"
#include "segment.h"

/* What this node wrote to a page, behind what is in @pack. */
void adsm_diffs_put(struct adsm_pack *pack, uint64_t page);
/* Node 0: all that another one has put into these bytes, which begin at a multiple of 8. */
void adsm_diffs_take(int from, const void *data, size_t size);
/* All nodes: send what this one wrote to the segments that several wrote; node 0: put it together. */
void adsm_diffs_merge(const struct adsm_segment *v, size_t n, const struct adsm_run *wrote, size_t n_wrote);

#endif
