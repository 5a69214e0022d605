/* SPDX-License-Identifier: MIT */
/* shield.h - protects a launch command and the nodes from connections of strangers (cluster/gate.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Set the environment of a launch command. Returns 0 or a negative errno.
 * @folder: the folder of the cluster's files.
 * @all_here: all nodes are on this machine.
 */
int adsm_cluster_shield(const char *folder, bool all_here);
/* Fill a text of an odd size with random hexadecimal digits. Returns 0 or a negative errno. */
int adsm_cluster_random(char *ret_text, size_t size);
/* All nodes have connected: the launch command accepts no more connections. */
void adsm_cluster_shield_close(const char *folder);
