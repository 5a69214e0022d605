/* SPDX-License-Identifier: MIT */
/* shield.c - sets the environment for a launch command and nodes that refuse connections of strangers. */
#include "shield.h"

#include "base/log.h"
#include "cluster/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define FILE_NAME "started"

/* Find the file to preload, in the folder of this program. Returns false if it does not exist. */
static bool find_gate(char ret_path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", ret_path, PATH_MAX - 32);
	char *slash;

	if (n <= 0)
		return false;
	ret_path[n] = '\0';
	slash = strrchr(ret_path, '/');
	if (!slash)
		return false;
	strcpy(slash, "/adsm-cluster-gate.so");
	/* In LD_PRELOAD, blanks and colons separate names. */
	return !strpbrk(ret_path, " :") && !access(ret_path, R_OK);
}

int adsm_cluster_random(char *ret_text, size_t size)
{
	uint8_t byte;

	for (; size > 2; size -= 2, ret_text += 2) {
		if (getrandom(&byte, 1, 0) != 1)
			return -EIO;
		snprintf(ret_text, size, "%02x", byte);
	}
	return 0;
}

static int set_key(void)
{
	char text[ADSM_CLUSTER_KEY_LENGTH + 1];
	int ret = adsm_cluster_random(text, sizeof(text));

	return !ret && setenv(ADSM_CLUSTER_KEY, text, 1) ? -errno : ret;
}

int adsm_cluster_shield(const char *folder, bool all_here)
{
	char path[PATH_MAX], text[PATH_MAX];

	if (find_gate(path)) {
		adsm_format(text, sizeof(text), all_here ? "here" : "hosts:%s/" FILE_NAME, folder);
		if (setenv("LD_PRELOAD", path, 1) || setenv(ADSM_CLUSTER_GATE, text, 1))
			return -errno;
	}
	/* Open MPI 5 lets other machines query a job's state. */
	if (all_here)
		setenv("PMIX_MCA_ptl_tcp_if_include", "lo", 0);
	return all_here ? 0 : set_key();
}

void adsm_cluster_shield_close(const char *folder)
{
	char path[PATH_MAX];
	int fd;

	adsm_format(path, sizeof(path), "%s/" FILE_NAME, folder);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
}
