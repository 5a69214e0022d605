/* SPDX-License-Identifier: MIT */
/* node/exchange/diffs.h - pages that several nodes wrote in one launch come together on node 0; and so do few pages. */
#ifndef ADSM_CLUSTER_DIFFS_H
#define ADSM_CLUSTER_DIFFS_H

#include "cluster/node/net/comm.h"
#include "plan.h"
#include "cluster/node/net/runs.h"

/* What this node wrote to a page, behind what is in @pack. */
void adsm_diffs_put(struct adsm_pack *pack, uint64_t page);
/* Node 0: all that another one has put into these bytes, which begin at a multiple of 8. */
void adsm_diffs_take(int from, const void *data, size_t size);
/* All nodes: send what this one wrote to the segments that several wrote; node 0: put it together. */
void adsm_diffs_merge(const struct adsm_segment *v, size_t n, const struct adsm_run *wrote, size_t n_wrote);

/* ---- what nodes wrote, inside of their letters DONE, where that is little */

#define ADSM_INSIDE_ALL 64		/* pages: of all letters of a launch together; and of one to another node */

/* Another node: all that it wrote, behind what is in @pack, if that is little. Returns how many bytes. */
size_t adsm_inside_put(struct adsm_pack *pack, const struct adsm_run *wrote, size_t n);
/* Node 0: takes the letter, in which so many bytes begin behind *@at. */
void adsm_inside_keep(struct adsm_letter *letter, size_t *at, size_t size);
/* Node 0: these bytes become those of the pages. Without it they are only forgotten. */
void adsm_inside_merge(void);
void adsm_inside_drop(void);

#endif
