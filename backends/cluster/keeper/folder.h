/* SPDX-License-Identifier: MIT */
/*
 * folder.h - the folder of a cluster on the application's machine: the keeper's socket, and all files that MPI makes
 * there. It is in memory where it can be, belongs to this user alone, and is locked while its cluster lives: one that
 * nobody could remove, as all was killed at once, is removed by the next.
 */
#ifndef ADSM_CLUSTER_FOLDER_H
#define ADSM_CLUSTER_FOLDER_H

#define ADSM_CLUSTER_FOLDER 80		/* bytes of its path: short enough for a socket's address in it */

/* A name that nobody has, where one can be made. -ENOENT: nowhere. */
int adsm_cluster_folder_choose(char ret_path[ADSM_CLUSTER_FOLDER]);
/* 0, and it is locked until this process ends, or a negative errno. */
int adsm_cluster_folder_make(const char *path);
/* With all that is in it, if it is there. */
void adsm_cluster_folder_remove(const char *path);

#endif
