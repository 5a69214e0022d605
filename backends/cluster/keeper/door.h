/* SPDX-License-Identifier: MIT */
/* door.h - the keeper's socket: node 0 connects to it, is checked, and gets the application's descriptors. */
#pragma once

#include "cluster/join.h"
#include "cluster/shared.h"

#include <sys/types.h>

struct adsm_cluster_door {
	char path[108];
	char token[ADSM_CLUSTER_TOKEN];
	uint32_t n_nodes;
	char launch[64];		/* the launch command's name in messages */
	int sock;
	int node;			/* pidfd of node 0 after it was accepted; else -1 */
	pid_t node_pid;
};

/* Open the socket in a folder that belongs to this user. Returns 0 or a negative errno. */
int adsm_cluster_door_open(struct adsm_cluster_door *door, const char *folder);
/* Serve a connection. Returns 0 if it was node 0, which has got @fds; -EAGAIN if it was no node of this cluster;
 * another negative errno, with a text, if node 0 was rejected. The description of the nodes is written to @shared. */
int adsm_cluster_door_answer(struct adsm_cluster_door *door, const int fds[2],
			     struct adsm_cluster_shared *shared, char ret_why[ADSM_CLUSTER_WHY]);
