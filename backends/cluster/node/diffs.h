/* SPDX-License-Identifier: MIT */
/* node/diffs.h - pages that several nodes wrote in one launch come together on node 0. */
#ifndef ADSM_CLUSTER_DIFFS_H
#define ADSM_CLUSTER_DIFFS_H

#include "segment.h"

/* All nodes: send what this one wrote to the segments that several wrote; node 0: put it together. */
void adsm_diffs_merge(const struct adsm_segment *v, size_t n, const struct adsm_run *wrote, size_t n_wrote);

#endif
