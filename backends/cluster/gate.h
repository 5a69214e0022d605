/* SPDX-License-Identifier: MIT */
/*
 * gate.h - which TCP connections the processes of a cluster take. MPI libraries and their launch commands listen on
 * every interface of a machine, and some of them end or wait without an end when a stranger connects and sends what
 * they do not expect. So this file's bind(), listen(), poll(), select(), accept() and connect() stand before libc's, in
 * the node program and, preloaded (adsm-cluster-gate.so), in the launch command.
 *
 * A launch command all of whose nodes are on its machine listens on the loopback interface only. It takes connections
 * of its own user's processes there, and of no one else. With nodes on other machines it takes connections from these
 * until all nodes are there. A node takes connections of its own user's processes on the same machine, and from
 * other machines those that begin with the cluster's key, which nodes send first.
 */
#ifndef ADSM_CLUSTER_GATE_H
#define ADSM_CLUSTER_GATE_H

#include <stdbool.h>

/*
 * For the launch command: "here", or "hosts:FILE" with a file that is there once all nodes are. Such a process has
 * nothing to do with it where the variable is not set.
 */
#define ADSM_CLUSTER_GATE "ADSM_CLUSTER_GATE"
/* For nodes on several machines: the cluster's key, ADSM_CLUSTER_KEY_LENGTH letters. Others cannot read it in /proc. */
#define ADSM_CLUSTER_KEY "ADSM_CLUSTER_KEY"
#define ADSM_CLUSTER_KEY_LENGTH 32

/* Are all nodes of this job on one machine, by what the launch command has told this process, a node? */
bool adsm_cluster_all_here(void);
/* In a node, before MPI_Init(). */
void adsm_cluster_gate_start(void);

#endif
