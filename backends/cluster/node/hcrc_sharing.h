/* SPDX-License-Identifier: MIT */
/*
 * node/hcrc_sharing.h - which pages the workers of this node give up in vain. Nobody is told what has changed in a page
 * that is old: it is seen when the worker has it again, if what it looked at is still the same.
 */
#ifndef ADSM_CLUSTER_HCRC_SHARING_H
#define ADSM_CLUSTER_HCRC_SHARING_H

#include "hcrc_types.h"

/* Before the workers of a task whose accesses are counted, of so many pages; -ENOMEM. */
int adsm_hcrc_sharing_begin(uint32_t n_pages, uint32_t page_size);
/* Behind its end, or that of one which was not counted. */
void adsm_hcrc_sharing_end(void);

/* A worker, where accesses are counted: it gives up a page, of which it has used these blocks, 64ths; */
void adsm_hcrc_sharing_gave_up(uint32_t worker, uint32_t page, const uint8_t *bytes, uint64_t touched);
/* it has one: true: it gave that up before, and none of what it used has changed; */
bool adsm_hcrc_sharing_fetched(uint32_t worker, uint32_t page, const uint8_t *bytes);
/* it has put its stores into the node's. */
void adsm_hcrc_sharing_put(uint32_t page);

/* When all have ended: what was given up in vain most often by one worker; .n 0: nothing was. */
struct adsm_hcrc_in_vain { uint32_t page, n, worker; };
struct adsm_hcrc_in_vain adsm_hcrc_sharing_worst(uint32_t n_workers);
/* Which pages workers of this node have written to, a bit for each, in words of 64; NULL: nothing is counted. */
const uint64_t *adsm_hcrc_sharing_written(void);

#endif
