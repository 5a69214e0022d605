/* SPDX-License-Identifier: MIT */
/* node/collect.h - pages that all nodes get, by collective operations of MPI. */
#ifndef ADSM_CLUSTER_COLLECT_H
#define ADSM_CLUSTER_COLLECT_H

#include "segment.h"

void adsm_collect(const struct adsm_segment *v, size_t n, enum adsm_collective collective);

#endif
