/* SPDX-License-Identifier: MIT */
/*
 * node/hcrc/hcrc.h - hierarchical centralized release consistency, of a node, for one task: no thread, no MPI, no
 * memory of its own. Who owns it calls it by one thread at a time, for each thing that a worker wants (hcrc_pages.h,
 * hcrc_sync.h) and for each message, and carries its messages to the others.
 */
#ifndef ADSM_CLUSTER_HCRC_H
#define ADSM_CLUSTER_HCRC_H

#include "hcrc_state.h"

/* How much memory it takes, but for the pages. 0: the configuration makes no sense. */
size_t adsm_hcrc_size(const struct adsm_hcrc_config *config);
/* At the start of a task. @memory: so much of it, aligned to 64 bytes, and 0. */
struct adsm_hcrc *adsm_hcrc_init(void *memory, const struct adsm_hcrc_config *config);
/*
 * A message has come. -EAGAIN: others from this node come first, and it is to be offered again; so the network need not
 * keep them in order. -EPROTO: it is none that a node could have sent now.
 */
int adsm_hcrc_receive(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const void *bytes);

/* ---- the manager: whose home is where, who may have copies, who has locks. Messages to it */

/*
 * On the manager's node, now and then while nothing comes: is there a worker that can go on? If none is the task fails
 * with EDEADLK, after some probes, each of which costs two messages for each node. Not while one is under way.
 */
void adsm_hcrc_probe(struct adsm_hcrc *hcrc);
/* A message: 0, or -EPROTO where it cannot be. */
int adsm_hcrc_on_manager(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes);

#endif
