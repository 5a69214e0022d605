/* SPDX-License-Identifier: MIT */
/*
 * node/hcrc/hcrc.h - hierarchical centralized release consistency (HCRC) of one node, for one task. It has no threads,
 * does not use MPI, and allocates no memory. The owner calls it from one thread at a time, for each request of a worker
 * (hcrc_pages.h, hcrc_sync.h) and for each message, and transports its messages to other nodes.
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

/* ---- The manager knows each page's home, which nodes may have copies, and who holds locks. Messages to it: */

/*
 * For the manager's node, from time to time while no messages come: can any worker continue? If none can, the task
 * fails with EDEADLK after some probes. Each probe costs two messages for each node. Does nothing while a probe is in
 * progress.
 */
void adsm_hcrc_probe(struct adsm_hcrc *hcrc);
/* A message to the manager. Returns 0, or -EPROTO if it is invalid. */
int adsm_hcrc_on_manager(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes);
