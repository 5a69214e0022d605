/* SPDX-License-Identifier: MIT */
/* folder.c - makes and removes the folder of a cluster. */
#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "adsm-cluster-"

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	remove(path);
	return 0;
}

void adsm_cluster_folder_remove(const char *path)
{
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* Lock a folder. Returns its descriptor; -1 if another process has locked it (unless @waits), or if it no longer
 * exists. */
static int lock(const char *path, bool waits)
{
	struct stat opened, named;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && !flock(fd, LOCK_EX | (waits ? 0 : LOCK_NB)) && !fstat(fd, &opened) && !lstat(path, &named) &&
	    opened.st_ino == named.st_ino && opened.st_dev == named.st_dev && opened.st_uid == geteuid())
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Remove the folders of this user's clusters whose processes were all killed. */
static void sweep(const char *parent)
{
	DIR *folder = opendir(parent);
	struct dirent *entry;
	char path[400];
	int fd;

	while (folder && (entry = readdir(folder))) {
		if (strncmp(entry->d_name, NAME, strlen(NAME)))
			continue;
		snprintf(path, sizeof(path), "%s/%s", parent, entry->d_name);
		fd = lock(path, false);
		if (fd < 0)
			continue;
		adsm_cluster_folder_remove(path);
		close(fd);
	}
	if (folder)
		closedir(folder);
}

int adsm_cluster_folder_choose(char ret_path[ADSM_CLUSTER_FOLDER])
{
	const char *parents[] = { "/dev/shm", getenv("TMPDIR"), "/tmp" };
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
		if (!parents[i] || access(parents[i], W_OK | X_OK) ||
		    snprintf(ret_path, ADSM_CLUSTER_FOLDER, "%s/" NAME "%016lx", parents[i], (unsigned long)random) >=
		    ADSM_CLUSTER_FOLDER)
			continue;
		sweep(parents[i]);
		return 0;
	}
	return -ENOENT;
}

int adsm_cluster_folder_make(const char *path)
{
	/* Before the folder is locked another keeper may take it for an abandoned one, and remove it: then make it
	 * again. */
	for (int i = 0; i < 100; i++) {
		if (mkdir(path, 0700))
			return -errno;
		if (lock(path, true) >= 0)
			return 0;
	}
	return -EBUSY;
}
