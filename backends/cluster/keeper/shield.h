/* SPDX-License-Identifier: MIT */
/* shield.h - what keeps strangers away from a launch command and the nodes (cluster/gate.h). */
#ifndef ADSM_CLUSTER_SHIELD_H
#define ADSM_CLUSTER_SHIELD_H

#include <stdbool.h>

/*
 * Set the environment of a launch command whose cluster has its files in @folder. @all_here: all nodes are on this
 * machine. 0, or a negative errno.
 */
int adsm_cluster_shield(const char *folder, bool all_here);
/* All nodes have connected: the launch command takes no more connections. */
void adsm_cluster_shield_close(const char *folder);

#endif
