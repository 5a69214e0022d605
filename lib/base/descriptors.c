/* SPDX-License-Identifier: MIT */
/* descriptors.c - the table of kept descriptors: without locks, and by system calls that no wrapper intercepts. */
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/os.h"

#define FROM 500	/* not just below the limit: if that is a million, the system's table would take 8 MiB */
#define MAX_KEPT 64
#define TAKEN (-1)
/*
 * A kept descriptor has a mark: the signal that the system would send for O_ASYNC, which the library never uses. The
 * mark belongs to the open file. Device and inode are not enough: before Linux 6.9 all pidfds have one inode, and so
 * has a file that is opened twice.
 */
#define MARK 63

struct identity {
	uint64_t device, inode;
	int mark;
};

struct adsm_fd {
	_Atomic int number;		/* 0: a free entry */
	struct identity identity;
};

static struct adsm_fd table[MAX_KEPT];
static _Atomic int owner;		/* the process */
_Atomic int adsm_fd_lowest = INT_MAX;

static int identify(int fd, struct identity *ret_identity)
{
	int saved_errno = errno, error;
	struct stat status;

	error = syscall(SYS_fstat, fd, &status) ? -errno : 0;
	if (!error)
		*ret_identity = (struct identity){
			status.st_dev, status.st_ino, (int)syscall(SYS_fcntl, fd, F_GETSIG),
		};
	errno = saved_errno;
	return error;
}

static bool is_same(const struct identity *a, const struct identity *b)
{
	return a->device == b->device && a->inode == b->inode && a->mark == b->mark;
}

static void mark(int fd)
{
	int saved_errno = errno;

	syscall(SYS_fcntl, fd, F_SETSIG, MARK);
	errno = saved_errno;
}

static void close_quietly(int fd)
{
	int saved_errno = errno;

	syscall(SYS_close, fd);
	errno = saved_errno;
}

/* Returns the same file with a higher number. */
static int copy_up(int fd)
{
	int saved_errno = errno;
	int ret = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, FROM);
	struct rlimit limit = { 0 };

	if (ret < 0 && !syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit)) {
		int from = limit.rlim_cur < FROM ? (int)limit.rlim_cur : FROM;

		while (ret < 0 && --from > STDERR_FILENO)
			ret = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, from);
	}
	ret = ret < 0 ? -errno : ret;
	errno = saved_errno;
	return ret;
}

int adsm_fd_lift(int fd)
{
	int higher;

	if (fd < 0)
		return fd;
	higher = copy_up(fd);
	/* If no other number is free, it may stay. */
	if (higher < 0 && fd > STDERR_FILENO)
		return fd;
	close_quietly(fd);
	return higher;
}

int adsm_fd_memory(const char *name, size_t size, int *ret_fd)
{
	int fd, ret = adsm_os_memfd(name, size, &fd);

	if (ret)
		return ret;
	fd = adsm_fd_lift(fd);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

static void lower(int fd)
{
	int lowest = atomic_load(&adsm_fd_lowest);

	while (fd < lowest && !atomic_compare_exchange_weak(&adsm_fd_lowest, &lowest, fd))
		;
}

/* The child does not need descriptors of the parent's library, and their other ends must notice when the parent
 * ends. */
static void in_child(void)
{
	for (int i = 0; i < MAX_KEPT; i++) {
		int fd = adsm_fd_number(&table[i]);

		if (fd >= 0)
			close_quietly(fd);
		atomic_store(&table[i].number, 0);
	}
	atomic_store(&adsm_fd_lowest, INT_MAX);
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

int adsm_fd_keep(int fd, struct adsm_fd **ret_own)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct adsm_fd *own = NULL;
	int error;

	fd = adsm_fd_lift(fd);
	if (fd < 0)
		return fd;
	pthread_once(&once, watch_forks);
	mark(fd);
	for (int i = 0; i < MAX_KEPT && !own; i++) {
		int none = 0;

		if (atomic_compare_exchange_strong(&table[i].number, &none, TAKEN))
			own = &table[i];
	}
	error = own ? identify(fd, &own->identity) : -EMFILE;
	if (error) {
		if (own)
			atomic_store(&own->number, 0);
		close_quietly(fd);
		return error;
	}
	atomic_store(&owner, (int)syscall(SYS_getpid));
	atomic_store(&own->number, fd);
	lower(fd);
	*ret_own = own;
	return 0;
}

int adsm_fd_number(const struct adsm_fd *own)
{
	int fd = own ? atomic_load(&own->number) : 0, last;
	struct identity identity;

	/* The descriptor may move meanwhile: then its old number belongs to another file, or is free. */
	do {
		if (fd > 0 && !identify(fd, &identity) && is_same(&identity, &own->identity))
			return fd;
		last = fd;
		fd = own ? atomic_load(&own->number) : 0;
	} while (fd != last);
	return -EBADF;
}

void adsm_fd_drop(struct adsm_fd *own)
{
	int fd = adsm_fd_number(own);

	if (own)
		atomic_store(&own->number, 0);
	if (fd >= 0)
		close_quietly(fd);
}

static bool is_owner(void)
{
	return atomic_load(&owner) == (int)syscall(SYS_getpid);
}

int adsm_fd_next(int first)
{
	int next = INT_MAX;

	for (int i = 0; i < MAX_KEPT; i++) {
		int fd = atomic_load_explicit(&table[i].number, memory_order_relaxed);

		if (fd > 0 && fd >= first && fd < next && adsm_fd_number(&table[i]) == fd)
			next = fd;
	}
	return next != INT_MAX && !is_owner() ? INT_MAX : next;
}

void adsm_fd_left(int fd)
{
	struct identity identity;

	if (identify(fd, &identity))
		return;
	for (int i = 0; i < MAX_KEPT; i++) {
		int number = atomic_load(&table[i].number);

		if (number > 0 && number != fd && is_same(&identity, &table[i].identity)) {
			close_quietly(fd);
			return;
		}
	}
}

int adsm_fd_move(int fd)
{
	for (int i = 0; i < MAX_KEPT; i++) {
		int higher, number = fd;

		if (atomic_load(&table[i].number) != fd)
			continue;
		higher = copy_up(fd);
		if (higher < 0)
			return higher;
		lower(higher);
		/* Another thread has moved it, or it is closed. */
		if (!atomic_compare_exchange_strong(&table[i].number, &number, higher))
			close_quietly(higher);
		return 0;
	}
	return 0;
}
