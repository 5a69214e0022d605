/* SPDX-License-Identifier: MIT */
/* test_descriptors.c - the descriptors that the library has: known again, whatever has their numbers; never 0 to 2. */
#include "base/descriptors.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core.h"
#include "base/output.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

static int (*open_one)(void);

static int open_pidfd(void)
{
	return (int)syscall(SYS_pidfd_open, getpid(), 0);
}

static int open_file(void)
{
	return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Another one of the very same thing, under the number of what is kept. */
static void test_same(void)
{
	int fd = open_one(), number, other, moved;
	struct adsm_fd *own;

	if (fd < 0)
		return;		/* there are none */
	CHECK(!adsm_fd_keep(fd, &own));
	number = adsm_fd_number(own);
	CHECK(number > 0 && !is_open(fd));
	CHECK(!adsm_fd_move(number));
	moved = adsm_fd_number(own);
	CHECK(moved > 0 && moved != number && is_open(number));
	adsm_fd_left(number);
	CHECK(!is_open(number) && adsm_fd_number(own) == moved);
	other = open_one();
	CHECK(dup2(other, moved) == moved);
	CHECK(adsm_fd_number(own) == -EBADF);
	adsm_fd_left(moved);
	adsm_fd_drop(own);
	CHECK(is_open(moved));
	close(moved);
	close(other);
}

/* A program that has closed 0 to 2 prints into no file of the library's. */
static void test_standard(void)
{
	char folder[] = "/tmp/adsm-descriptors-XXXXXX", path[64], temporary[ADSM_OUTPUT_PATH_SIZE];
	int made, replaced, status;
	pid_t child;

	CHECK(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/report", folder);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		for (int fd = 0; fd <= STDERR_FILENO; fd++)
			close(fd);
		made = adsm_output_make(path, temporary);
		replaced = adsm_output_replace(path);
		unlink(temporary);
		_exit(made <= STDERR_FILENO ? 41 : replaced <= STDERR_FILENO ? 42 : is_open(STDOUT_FILENO) ? 43 : 0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(!unlink(path) && !rmdir(folder));
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
}

int main(void)
{
	test_standard();
	open_one = open_pidfd;
	test_same();
	open_one = open_file;
	test_same();
	return 0;
}
