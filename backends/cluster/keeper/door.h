/* SPDX-License-Identifier: MIT */
/* door.h - the socket at which node 0 comes to the keeper, is looked at, and gets the application's descriptors. */
#ifndef ADSM_CLUSTER_DOOR_H
#define ADSM_CLUSTER_DOOR_H

#include "cluster/join.h"
#include "cluster/shared.h"

#include <sys/types.h>

struct adsm_cluster_door {
	char path[108];
	char token[ADSM_CLUSTER_TOKEN];
	uint32_t n_nodes;
	char launch[64];		/* what the command is called in sentences */
	int sock;
	int node;			/* pidfd of node 0, once it has been answered; else -1 */
	pid_t node_pid;
};

/* Open it in a folder of this user's: 0 or a negative errno. */
int adsm_cluster_door_open(struct adsm_cluster_door *door, const char *folder);
/*
 * Somebody is there. 0: node 0, which has got @fds; -EAGAIN: nobody who belongs here; else it
 * was sent away, and the sentence says why. What the nodes are is written down in @shared.
 */
int adsm_cluster_door_answer(struct adsm_cluster_door *door, const int fds[2],
			     struct adsm_cluster_shared *shared, char ret_why[ADSM_CLUSTER_WHY]);

#endif
