/* SPDX-License-Identifier: MIT */
/* node/hcrc_manager.h - the manager: whose home is where, who may have copies, who has locks. Messages to it. */
#ifndef ADSM_CLUSTER_HCRC_MANAGER_H
#define ADSM_CLUSTER_HCRC_MANAGER_H

#include "hcrc_state.h"

/*
 * On the manager's node, now and then while nothing comes: is there a worker that can go on? If none is the task fails
 * with EDEADLK, after some probes, each of which costs two messages for each node. Not while one is under way.
 */
void adsm_hcrc_probe(struct adsm_hcrc *hcrc);
/* A message: 0, or -EPROTO where it cannot be. */
int adsm_hcrc_on_manager(struct adsm_hcrc *hcrc, const struct adsm_hcrc_message *message, const uint8_t *bytes);

#endif
