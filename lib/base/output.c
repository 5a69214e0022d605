/* SPDX-License-Identifier: MIT */
/* output.c - makes new files whose names no link can redirect. */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/log.h"

#define TRIES 100

bool adsm_output_is_new(const char *path)
{
	struct stat status;

	/* Such a path may lead to a descriptor of the program, whose regular file others write too. */
	if (!strncmp(path, "/proc/", 6) || (!strncmp(path, "/dev/", 5) && strncmp(path, "/dev/shm/", 9)))
		return false;
	return stat(path, &status) || S_ISREG(status.st_mode);
}

/* May others make files in the folder of @path? */
static bool is_sticky(const char *path)
{
	const char *end = strrchr(path, '/');
	char folder[PATH_MAX] = ".";
	struct stat status;

	if (end)
		adsm_format(folder, sizeof(folder), "%.*s", (int)(end - path) + 1, path);
	return stat(folder, &status) || status.st_mode & S_ISVTX;
}

int adsm_output_make(const char *path, char ret_temporary[ADSM_OUTPUT_PATH_SIZE])
{
	const mode_t mode = is_sticky(path) ? 0600 : 0666;
	int fd = -1;

	for (int i = 0; i < TRIES && fd < 0; i++) {
		uint64_t number;

		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -EIO;
		/* The process id comes last: adsmrun checks whether the process still runs. */
		adsm_format(ret_temporary, ADSM_OUTPUT_PATH_SIZE, "%s.%" PRIu64 ".%d.part", path, number >> 24,
			    getpid());
		fd = open(ret_temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		if (fd < 0 && errno != EEXIST && errno != EINTR)
			return -errno;
	}
	if (fd < 0)
		return -EEXIST;
	fd = adsm_fd_lift(fd);
	if (fd < 0)
		unlink(ret_temporary);
	return fd;
}

int adsm_output_replace(const char *path)
{
	char temporary[ADSM_OUTPUT_PATH_SIZE];
	int fd = adsm_output_make(path, temporary), error;

	if (fd < 0 || !rename(temporary, path))
		return fd;
	error = -errno;
	close(fd);
	unlink(temporary);
	return error;
}
