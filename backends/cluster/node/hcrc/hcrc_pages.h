/* SPDX-License-Identifier: MIT */
/* node/hcrc/hcrc_pages.h - the pages of a node, and the copies that its workers have of them. */
#ifndef ADSM_CLUSTER_HCRC_PAGES_H
#define ADSM_CLUSTER_HCRC_PAGES_H

#include "hcrc_state.h"

/* ---- for workers: of each one thing at a time, which ends with config.page() */

void adsm_hcrc_read(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t page);
/* A page to write to, no more of them than config.n_open. @has: the worker has its bytes. */
void adsm_hcrc_write(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t page, bool has);
/*
 * At once: the bytes of a page that the worker has written to, before it gives a lock back, waits at the barrier or
 * ends, or wants its room. @keep: it has the page on, to read.
 */
void adsm_hcrc_put(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t page, const uint8_t *bytes, bool keep);
/* A page that the worker has given up, and has not written to. */
void adsm_hcrc_drop(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t page);
/*
 * When it has got a lock, or has passed the barrier, and until ADSM_HCRC_NONE comes: a page whose copy the worker gives
 * up. If it has written to it: by adsm_hcrc_put(), else it is gone.
 */
uint32_t adsm_hcrc_notice(struct adsm_hcrc *hcrc, uint32_t worker);

/* ---- for hcrc_sync.c */

/* What the node's workers have put goes to its home, as part of the release of a lock. The pages are in hcrc->list. */
void adsm_hcrc_flush(struct adsm_hcrc *hcrc, uint32_t lock);
/* The same at once, where a release has to wait: what is sent from now on it would not wait for. */
void adsm_hcrc_flush_early(struct adsm_hcrc *hcrc);
/* The manager says that it is old. */
void adsm_hcrc_invalidate(struct adsm_hcrc *hcrc, uint32_t page);
/* Its frame is wanted, and nobody waits for it. */
void adsm_hcrc_evict(struct adsm_hcrc *hcrc, uint32_t page);

/* ---- messages: 0, or -EPROTO where it cannot be */

int adsm_hcrc_on_request(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message);
int adsm_hcrc_on_diff(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes);
int adsm_hcrc_on_home(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes);
int adsm_hcrc_on_page(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes);

#endif
