/* SPDX-License-Identifier: MIT */
/*
 * folder.h - the folder of a cluster on the application's machine, for the keeper's socket and all files that MPI makes
 * there. It is in memory if possible, belongs to this user alone, and is locked while the cluster runs. If all
 * processes were killed at the same time, the next cluster removes the folder.
 */
#pragma once

#define ADSM_CLUSTER_FOLDER 80		/* bytes of its path: short enough for the address of a socket in it */

/* Choose an unused name in a folder that can be written. Returns -ENOENT if there is none. */
int adsm_cluster_folder_choose(char ret_path[ADSM_CLUSTER_FOLDER]);
/* Returns 0 or a negative errno. The folder is locked until this process ends. */
int adsm_cluster_folder_make(const char *path);
/* Remove the folder and its contents, if it exists. */
void adsm_cluster_folder_remove(const char *path);
