/* SPDX-License-Identifier: MIT */
/* base/uffd.c - userfaultfd(2) without a thread that serves it. */
#include "base/uffd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "base/os.h"
#include "base/syscall.h"

/* Newer than the headers of the oldest system we build on. */
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#define FEATURE_SIGBUS (UINT64_C(1) << 7)
#define FEATURE_MINOR_SHMEM (UINT64_C(1) << 10)
#define FEATURE_WP_HUGETLBFS_SHMEM (UINT64_C(1) << 12)
#define FEATURE_WP_UNPOPULATED (UINT64_C(1) << 13)
#define FEATURE_WP_ASYNC (UINT64_C(1) << 15)
#define REGISTER_MISSING (UINT64_C(1) << 0)
#define REGISTER_WP (UINT64_C(1) << 1)
#define REGISTER_MINOR (UINT64_C(1) << 2)
#define CONTINUE_WP (UINT64_C(1) << 1)

struct continue_args {
	uint64_t start, size, mode;
	int64_t mapped;
};
#define IOCTL_CONTINUE _IOWR(0xAA, 0x07, struct continue_args)

struct scan_args {
	uint64_t size, flags, start, end, walk_end, runs, n_runs, max_pages;
	uint64_t inverted, all_of, any_of, returned;
};
#define IOCTL_SCAN _IOWR('f', 16, struct scan_args)
#define SCAN_PROTECTS 1		/* what it finds becomes clean */
#define SCAN_ASYNC_ONLY 2	/* fails if the system does not record writes there */
#define IS_WRITTEN 2

/* An element of the array scan_args.runs. */
struct scan_run { uint64_t start, end, categories; };

static const struct {
	uint64_t bit;
	const char *lacks;
} features[] = {
	{ FEATURE_SIGBUS, "the system does not support SIGBUS instead of messages (Linux 4.14 does)" },
	{ FEATURE_MINOR_SHMEM, "the system does not support it for files in memory (Linux 5.14 does)" },
	{ FEATURE_WP_HUGETLBFS_SHMEM, "the system cannot protect files in memory with it (Linux 5.19 can)" },
	{ FEATURE_WP_UNPOPULATED, "the system cannot protect unmapped pages with it (Linux 6.4 can)" },
	{ FEATURE_WP_ASYNC, "the system does not record writes (Linux 6.7 does)" },
};

void adsm_uffd_close(struct adsm_uffd *uffd)
{
	if (uffd->fd >= 0)
		sys(SYS_close, uffd->fd);
	if (uffd->pagemap >= 0)
		sys(SYS_close, uffd->pagemap);
	uffd->fd = uffd->pagemap = -1;
}

int adsm_uffd_attach(const struct adsm_uffd *uffd, void *view, size_t size)
{
	struct uffdio_register args = {
		.range = { (uintptr_t)view, size },
		.mode = REGISTER_MISSING | REGISTER_WP | REGISTER_MINOR,
	};

	return (int)sys(SYS_ioctl, uffd->fd, UFFDIO_REGISTER, &args);
}

int adsm_uffd_map(const struct adsm_uffd *uffd, void *view, size_t size, bool clean)
{
	for (uintptr_t at = (uintptr_t)view, end = at + size; at < end;) {
		struct continue_args args = { at, end - at, clean ? CONTINUE_WP : 0, 0 };
		long ret = sys(SYS_ioctl, uffd->fd, IOCTL_CONTINUE, &args);

		/* It stops at the first page with an error, and returns the error when called for the rest. */
		if (args.mapped > 0)
			at += (uint64_t)args.mapped;
		else if (ret == -EEXIST)
			at += ADSM_PAGE_SIZE;
		else if (ret != -EAGAIN)
			return (int)ret;
	}
	return 0;
}

void adsm_uffd_unmap(void *view, size_t size)
{
	sys(SYS_madvise, view, size, MADV_DONTNEED);
}

long adsm_uffd_collect(const struct adsm_uffd *uffd, uintptr_t start, uintptr_t end, struct adsm_uffd_written *runs,
		       size_t n, uintptr_t *ret_end)
{
	struct scan_run found[256];
	struct scan_args args = {
		.size = sizeof(args),
		.flags = SCAN_PROTECTS | SCAN_ASYNC_ONLY,
		.start = start,
		.end = end,
		.runs = (uintptr_t)found,
		.n_runs = n < 256 ? n : 256,
		/* With exactly these two fields the system need not look at the page itself. */
		.all_of = IS_WRITTEN,
		.returned = IS_WRITTEN,
	};
	long ret;

	do
		ret = sys(SYS_ioctl, uffd->pagemap, IOCTL_SCAN, &args);
	while (ret == -EINTR);
	for (long i = 0; i < ret; i++)
		runs[i] = (struct adsm_uffd_written) { found[i].start, found[i].end };
	if (ret >= 0)
		*ret_end = args.walk_end;
	return ret;
}

/* ---- what this system can do */

/* Map one page clean, leave another unmapped, and write to the first: exactly this write must be found, once. */
static int try_out(const struct adsm_uffd *uffd, uint8_t *view, uint8_t *alias)
{
	const uintptr_t start = (uintptr_t)view, end = start + 2 * ADSM_PAGE_SIZE;
	struct adsm_uffd_written runs[2];
	uintptr_t to;
	long n;
	int ret;

	memset(alias, 1, 2 * ADSM_PAGE_SIZE);
	ret = adsm_uffd_attach(uffd, view, 2 * ADSM_PAGE_SIZE);
	if (!ret)
		ret = adsm_uffd_map(uffd, view, ADSM_PAGE_SIZE, true);
	if (ret)
		return ret;
	for (int i = 0; i < 3; i++) {
		n = adsm_uffd_collect(uffd, start, end, runs, 2, &to);
		if (n < 0)
			return (int)n;
		/* The first time the page that is not mapped may be found. NOLINTNEXTLINE: the system fills it */
		if (i && (n != (i == 1) || (n && (runs[0].start != start || runs[0].end != start + ADSM_PAGE_SIZE))))
			return -ENOTSUP;
		if (!i)
			*(volatile uint8_t *)view = 2;
	}
	return 0;
}

static int try_pages(const struct adsm_uffd *uffd)
{
	void *view, *alias;
	int fd, ret = adsm_os_memfd("adsm-uffd", 2 * ADSM_PAGE_SIZE, &fd);

	if (ret)
		return ret;
	ret = adsm_os_map(NULL, 2 * ADSM_PAGE_SIZE, fd, 0, ADSM_PROT_RW, &alias);
	if (ret)
		goto close_fd;
	ret = adsm_os_map(NULL, 2 * ADSM_PAGE_SIZE, fd, 0, ADSM_PROT_RW, &view);
	if (ret)
		goto unmap_alias;
	ret = try_out(uffd, view, alias);
	adsm_os_unmap(view, 2 * ADSM_PAGE_SIZE);
unmap_alias:
	adsm_os_unmap(alias, 2 * ADSM_PAGE_SIZE);
close_fd:
	sys(SYS_close, fd);
	return ret;
}

/* What the system lacks, as the end of a sentence, or NULL. */
static const char *missing(uint64_t has)
{
	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
		if (!(has & features[i].bit))
			return features[i].lacks;
	return NULL;
}

/* Opens a descriptor. It is opened twice, as its features can be chosen only once: first to ask for all features of the
 * system, then with those that the library uses. */
static int open_with(uint64_t wanted, struct uffdio_api *ret_api)
{
	struct uffdio_api api = { .api = UFFD_API, .features = wanted };
	long fd = sys(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY), ret;

	/* Linux before 5.11 does not have this flag. */
	if (fd == -EINVAL)
		fd = sys(SYS_userfaultfd, O_CLOEXEC);
	if (fd < 0)
		return (int)fd;
	ret = sys(SYS_ioctl, fd, UFFDIO_API, &api);
	if (ret) {
		sys(SYS_close, fd);
		return (int)ret;
	}
	*ret_api = api;
	return (int)fd;
}

int adsm_uffd_open(struct adsm_uffd *ret_uffd, const char **ret_lacks)
{
	struct adsm_uffd uffd = { -1, -1 };
	struct uffdio_api api = { 0 };
	uint64_t wanted = 0;
	int ret;

	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
		wanted |= features[i].bit;
	ret = open_with(0, &api);
	*ret_lacks = ret == -ENOSYS ? "the system does not have it" :
		"the process may not use it (vm.unprivileged_userfaultfd)";
	if (ret < 0)
		return -ENOTSUP;
	sys(SYS_close, ret);
	*ret_lacks = missing(api.features);
	if (*ret_lacks)
		return -ENOTSUP;
	uffd.fd = open_with(wanted, &api);
	uffd.pagemap = (int)sys(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	*ret_lacks = "/proc/self/pagemap cannot be opened";
	if (uffd.pagemap >= 0 && uffd.fd >= 0) {
		*ret_lacks = "it does not work as documented on this system";
		ret = try_pages(&uffd);
	}
	if (ret || uffd.pagemap < 0 || uffd.fd < 0) {
		adsm_uffd_close(&uffd);
		return -ENOTSUP;
	}
	*ret_uffd = uffd;
	return 0;
}
