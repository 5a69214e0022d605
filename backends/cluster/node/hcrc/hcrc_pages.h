/* SPDX-License-Identifier: MIT */
/* node/hcrc/hcrc_pages.h - the pages of a node, and the copies that its workers have of them. */
#pragma once

#include "hcrc_state.h"

/* ---- for workers: each has one request at a time, which ends with config.page() */

void adsm_hcrc_read(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t page);
/* Get a page to write to; a worker may have config.n_open of these. @has: the worker has the page's bytes. */
void adsm_hcrc_write(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t page, bool has);
/*
 * Done immediately: give the bytes of a page that the worker has written to. Required before it releases a lock, waits
 * at the barrier, ends, or reuses the page's place. @keep: the worker keeps the page, to read.
 */
void adsm_hcrc_put(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t page, const uint8_t *bytes, bool keep);
/* The worker has given up a page that it has not written to. */
void adsm_hcrc_drop(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t page);
/*
 * Call this repeatedly after the worker has got a lock or passed the barrier, until it returns ADSM_HCRC_NONE. It
 * returns a page whose copy the worker must give up: by adsm_hcrc_put() if it has written to it; otherwise nothing else
 * is necessary.
 */
uint32_t adsm_hcrc_notice(struct adsm_hcrc *hcrc, uint32_t worker);

/* ---- for hcrc_sync.c */

/*
 * Send the changes of the node's workers to the pages' homes, as part of the release of a lock. The pages are in
 * hcrc->list.
 */
void adsm_hcrc_flush(struct adsm_hcrc *hcrc, uint32_t lock);
/* Send them immediately, if a release has to wait: it would not wait for what is sent after this. */
void adsm_hcrc_flush_early(struct adsm_hcrc *hcrc);
/* The manager reports that the page is old. */
void adsm_hcrc_invalidate(struct adsm_hcrc *hcrc, uint32_t page);
/* The page's frame is needed, and no worker waits for the page. */
void adsm_hcrc_evict(struct adsm_hcrc *hcrc, uint32_t page);

/* ---- messages: return 0, or -EPROTO if the message is invalid */

int adsm_hcrc_on_request(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message);
int adsm_hcrc_on_diff(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes);
int adsm_hcrc_on_home(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes);
int adsm_hcrc_on_page(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes);
