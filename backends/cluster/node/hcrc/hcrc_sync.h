/* SPDX-License-Identifier: MIT */
/* node/hcrc/hcrc_sync.h - the locks that a node holds or requests, the barrier, and the end of workers. */
#pragma once

#include "hcrc_state.h"

/*
 * For workers: each has one request at a time, which ends with config.go(). Before adsm_hcrc_release(),
 * adsm_hcrc_barrier() and adsm_hcrc_end() the worker puts what it has written. After adsm_hcrc_acquire() and
 * adsm_hcrc_barrier() it gives up the pages that adsm_hcrc_notice() returns. Errors of the worker, which change
 * nothing:
 *
 * -EINVAL	the lock's number is invalid
 * -EDEADLK	the worker holds the lock already
 * -EPERM	the worker releases a lock that it does not hold
 * -EOWNERDEAD	the worker ends and holds a lock
 */
int adsm_hcrc_acquire(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t lock);
int adsm_hcrc_release(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t lock);
void adsm_hcrc_barrier(struct adsm_hcrc *hcrc, uint32_t worker);
/* There is no config.go() for this: config.ended() is called when all workers have ended. */
int adsm_hcrc_end(struct adsm_hcrc *hcrc, uint32_t worker);
/* The task cannot continue: @error is a positive errno. */
void adsm_hcrc_fail(struct adsm_hcrc *hcrc, uint32_t error);

/* ---- messages: return 0, or -EPROTO if the message is invalid */

int adsm_hcrc_on_grant(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes);
int adsm_hcrc_on_depart(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes);
void adsm_hcrc_on_probe(struct adsm_hcrc *hcrc);
int adsm_hcrc_on_early_ack(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message);
