/* SPDX-License-Identifier: MIT */
/* node/hcrc/hcrc_sync.h - the locks that a node has or wants, the barrier, and the end of its workers. */
#ifndef ADSM_CLUSTER_HCRC_SYNC_H
#define ADSM_CLUSTER_HCRC_SYNC_H

#include "hcrc_state.h"

/*
 * For workers: of each one thing at a time, which ends with config.go(). Before adsm_hcrc_release(),
 * adsm_hcrc_barrier() and adsm_hcrc_end() it has put what it has written; after adsm_hcrc_acquire() and
 * adsm_hcrc_barrier() it gives up what adsm_hcrc_notice() says. Errors are the worker's, and nothing has changed:
 * -EINVAL	there is no such lock
 * -EDEADLK	it has the lock that it wants
 * -EPERM	it has not got the lock that it gives back
 * -EOWNERDEAD	it ends, and has a lock
 */
int adsm_hcrc_acquire(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t lock);
int adsm_hcrc_release(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t lock);
void adsm_hcrc_barrier(struct adsm_hcrc *hcrc, uint32_t worker);
/* config.go() does not come: config.ended() does, when all have. */
int adsm_hcrc_end(struct adsm_hcrc *hcrc, uint32_t worker);
/* The task cannot go on: @error is a positive errno. */
void adsm_hcrc_fail(struct adsm_hcrc *hcrc, uint32_t error);

/* ---- messages: 0, or -EPROTO where it cannot be */

int adsm_hcrc_on_grant(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes);
int adsm_hcrc_on_depart(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes);
void adsm_hcrc_on_probe(struct adsm_hcrc *hcrc);
int adsm_hcrc_on_early_ack(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message);

#endif
