/* SPDX-License-Identifier: MIT */
/*
 * node/hcrc/hcrc.h - hierarchical centralized release consistency (HCRC) of one node, for one task. It has no threads,
 * does not use MPI, and allocates no memory. The owner calls it from one thread at a time, for each request of a worker
 * and for each message, and transports its messages to other nodes.
 */
#pragma once

#include "hcrc_state.h"

/* Bytes of memory that it needs, without the pages. Returns 0 if the configuration is invalid. */
size_t adsm_hcrc_size(const struct adsm_hcrc_config *config);
/* Call this at the start of a task. @memory: adsm_hcrc_size() bytes, aligned to 64, all 0. */
struct adsm_hcrc *adsm_hcrc_init(void *memory, const struct adsm_hcrc_config *config);
/*
 * A message has come. Returns 0, or:
 *
 * -EAGAIN	earlier messages of that node are missing: offer it again (so the network need not keep order)
 * -EPROTO	no node could have sent this message now
 */
int adsm_hcrc_receive(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const void *bytes);

/* ---- hcrc_pages.c: the pages of a node, and the copies that its workers have of them */

/* For workers: each has one request at a time, which ends with config.page(). Parts are counted over all pages. */
void adsm_hcrc_read(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t part);
/* Get a part to write to; a worker may have config.n_open of these. @has: the worker has the part's bytes. */
void adsm_hcrc_write(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t part, bool has);
/* Done immediately: give the bytes of a part that the worker has written to. Required before it releases a lock, waits
 * at the barrier, ends, or reuses the part's place. @keep: the worker keeps the part, to read. */
void adsm_hcrc_put(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t part, const uint8_t *bytes, bool keep);
/* The worker has given up a part that it has not written to. */
void adsm_hcrc_drop(struct adsm_hcrc *hcrc, uint32_t worker, uint32_t part);
/*
 * Call this repeatedly after the worker has got a lock or passed the barrier, until it returns ADSM_HCRC_NONE. It
 * returns a part whose copy the worker must give up: by adsm_hcrc_put() if it has written to it; otherwise nothing else
 * is necessary.
 */
uint32_t adsm_hcrc_notice(struct adsm_hcrc *hcrc, uint32_t worker);

/* ---- hcrc_sync.c: the locks that a node holds or requests, the barrier, and the end of workers */

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
/*
 * Operations on flags: @kind is ADSM_HCRC_FLAG_SET, _AWAIT or _CLEAR. A worker may continue before it has set or
 * cleared a flag, but its next operation on a flag begins after that. Before _SET the worker puts what it has written;
 * after _AWAIT it gives up the pages that adsm_hcrc_notice() returns. Returns 0, or -EINVAL if the flag's number is
 * invalid.
 */
int adsm_hcrc_flag(struct adsm_hcrc *hcrc, uint32_t worker, uint8_t kind, uint32_t flag);
/* There is no config.go() for this: config.ended() is called when all workers have ended. */
int adsm_hcrc_end(struct adsm_hcrc *hcrc, uint32_t worker);
/* The task cannot continue: @error is a positive errno. */
void adsm_hcrc_fail(struct adsm_hcrc *hcrc, uint32_t error);

/* ---- for the files of the protocol only: of hcrc_pages.c, for the others */

/* Send the changes of the node's workers to the pages' homes, as part of the release of a lock. The pages are in
 * hcrc->list. */
void adsm_hcrc_flush(struct adsm_hcrc *hcrc, uint32_t lock);
/* Send them immediately, if a release has to wait: it would not wait for what is sent after this. */
void adsm_hcrc_flush_early(struct adsm_hcrc *hcrc);
/* The manager reports that the page is old. */
void adsm_hcrc_invalidate(struct adsm_hcrc *hcrc, uint32_t page);
/* The page's frame is needed, and no worker waits for the page. */
void adsm_hcrc_evict(struct adsm_hcrc *hcrc, uint32_t page);

/* Of hcrc_sync.c. A lock, or the operation on a flag with this number, is to be sent to the manager after all early
 * diffs. @changes: the changes of the node's workers are sent with it. */
void adsm_hcrc_leave(struct adsm_hcrc *hcrc, uint32_t number, bool changes);
void adsm_hcrc_go(struct adsm_hcrc *hcrc, uint32_t worker);
/* The manager lists these pages as old. Returns 0 or -EPROTO. */
int adsm_hcrc_invalidate_all(struct adsm_hcrc *hcrc, uint32_t size, const uint8_t *bytes);
/* Of hcrc_flags.c: send the operation of a worker to the manager; the manager executes an operation, after all earlier
 * releases of the node. @number: of the release, from the first one of flags on. */
void adsm_hcrc_send_flag(struct adsm_hcrc *hcrc, uint32_t worker);
void adsm_hcrc_execute_flag(struct adsm_hcrc *hcrc, uint32_t number);
/* Of hcrc.c: send @message of the manager with the list of old pages for @node, which then no longer has these
 * pages. */
void adsm_hcrc_send_with_notices(struct adsm_hcrc *hcrc, uint32_t node, struct adsm_hcrc_message message);

/* Messages. These return 0, or -EPROTO if the message is invalid. */
int adsm_hcrc_on_request(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message);
int adsm_hcrc_on_diff(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes);
int adsm_hcrc_on_home(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes);
int adsm_hcrc_on_page(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes);
int adsm_hcrc_on_grant(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes);
int adsm_hcrc_on_recall(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message);
int adsm_hcrc_on_flag_done(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes);
/* To the manager: check and note the operation, whose release follows. */
int adsm_hcrc_on_flag(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message);
int adsm_hcrc_on_depart(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes);
void adsm_hcrc_on_probe(struct adsm_hcrc *hcrc);
int adsm_hcrc_on_early_ack(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message);

/* ---- The manager knows each page's home, which nodes may have copies, and who holds locks. Messages to it: */

/*
 * For the manager's node, from time to time while no messages come: can any worker continue? If none can, the task
 * fails with EDEADLK after some probes. Each probe costs two messages for each node. Does nothing while a probe is in
 * progress.
 */
void adsm_hcrc_probe(struct adsm_hcrc *hcrc);
/* A message to the manager. Returns 0, or -EPROTO if it is invalid. */
int adsm_hcrc_on_manager(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes);
