/* SPDX-License-Identifier: MIT */
/*
 * node/exchange/diffs.h - combines on node 0 the pages that several nodes wrote in one launch, and small sets of
 * written pages.
 */
#pragma once

#include "cluster/node/net/comm.h"
#include "plan.h"
#include "cluster/node/net/runs.h"

/* Append to @pack the changes that this node made to a page. */
void adsm_diffs_put(struct adsm_pack *pack, uint64_t page);
/* Node 0: apply all changes of another node in these bytes, which are aligned to 8. */
void adsm_diffs_take(int from, const void *data, size_t size);
/* All nodes: send the changes of this node to segments that several nodes wrote; node 0 combines them. */
void adsm_diffs_merge(const struct adsm_segment *v, size_t n, const struct adsm_run *wrote, size_t n_wrote);

/* ---- Small sets of written pages, as part of DONE letters */

/* Maximum number of pages in all letters of a launch, and in a letter to another node. */
#define ADSM_INSIDE_ALL 64

/* Other nodes: if this node wrote only a few pages, append all of them to @pack. Returns the number of bytes. */
size_t adsm_inside_put(struct adsm_pack *pack, const struct adsm_run *wrote, size_t n);
/* Node 0: keep the letter, which has @size bytes of pages from *@at on. */
void adsm_inside_keep(struct adsm_letter *letter, size_t *at, size_t size);
/* Node 0: write these bytes to the pages; or forget them. */
void adsm_inside_merge(void);
void adsm_inside_drop(void);
