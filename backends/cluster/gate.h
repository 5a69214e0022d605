/* SPDX-License-Identifier: MIT */
/*
 * gate.h - which TCP connections the processes of a cluster accept. MPI libraries and their launch commands listen on
 * every interface of a machine. Some of them end, or wait without end, when a stranger connects and sends unexpected
 * data. So the functions bind(), listen(), poll(), select(), accept() and connect() of this file replace those of libc
 * in the node program and, preloaded (adsm-cluster-gate.so), in the launch command.
 *
 * If all nodes are on its machine, a launch command listens on the loopback interface only, and accepts only
 * connections of processes of the same user there. With nodes on other machines it accepts connections from these until
 * all nodes have started. A node accepts connections of processes of the same user on its machine. From other machines
 * it accepts those that begin with the cluster's key, which nodes send first.
 */
#pragma once

#include <stdbool.h>

/* For the launch command: "here", or "hosts:FILE", where FILE exists once all nodes have started. In a process without
 * this variable the functions do nothing but call libc. */
#define ADSM_CLUSTER_GATE "ADSM_CLUSTER_GATE"
/* For nodes on several machines: the key, ADSM_CLUSTER_KEY_LENGTH letters. Other users cannot read the environment in
 * /proc. */
#define ADSM_CLUSTER_KEY "ADSM_CLUSTER_KEY"
#define ADSM_CLUSTER_KEY_LENGTH 32

/* For a node: are all nodes of the job on one machine, according to the launch command's variables? */
bool adsm_cluster_all_here(void);
/* For a node: call this before MPI_Init(). */
void adsm_cluster_gate_start(void);
