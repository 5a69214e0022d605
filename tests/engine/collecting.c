/* SPDX-License-Identifier: MIT */
/*
 * collecting.c - an engine from outside, added as its program starts. A page that may be read may also be written
 * without a fault, and Linux records the write (userfaultfd's WP_ASYNC, since 6.7). Closed pages fault as under
 * sigsegv.
 *
 * Armed: the next write to a page disarms it, so that a scan of the page table finds it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/os.h"
#include "engine/list.h"

/* Of linux/userfaultfd.h and linux/fs.h; older ones do not have all of it. */
#define SHARED ((uint64_t)1 << 12)
#define ASYNC ((uint64_t)1 << 15)
#define USER_MODE_ONLY 1

struct scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, inverted, mask, any_of, return_mask;
};

struct region {
	uint64_t start, end, categories;
};

#define SCAN _IOWR('f', 16, struct scan)
#define SCAN_ARMED_ONLY 2		/* -EPERM where a page is that cannot be armed */
#define WRITTEN 2
#define REGIONS 32

static int uffd = -1, pagemap = -1;

static long control(int fd, unsigned long request, void *arg)
{
	long ret = ioctl(fd, request, arg);

	return ret < 0 ? -errno : ret;
}

static int open_both(void)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | SHARED | ASYNC };
	int error;

	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | USER_MODE_ONLY);
	pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	error = uffd < 0 || pagemap < 0 ? -ENOTSUP : (int)control(uffd, UFFDIO_API, &api);
	if (error) {
		close(uffd);
		close(pagemap);
	}
	return error;
}

static int start(adsm_fault_handler *handler)
{
	int error = open_both();

	return error ? error : adsm_engine_sigsegv.start(handler);
}

static void stop(void)
{
	adsm_engine_sigsegv.stop();
	close(uffd);
	close(pagemap);
}

static int arm(void *view, size_t size, bool armed)
{
	struct uffdio_writeprotect arg = {
		.range = { (uintptr_t)view, size }, .mode = armed ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	return (int)control(uffd, UFFDIO_WRITEPROTECT, &arg);
}

static int attach(void *view, size_t size, bool exact)
{
	struct uffdio_register arg = { .range = { (uintptr_t)view, size }, .mode = UFFDIO_REGISTER_MODE_WP };
	int error = exact ? 0 : (int)control(uffd, UFFDIO_REGISTER, &arg);

	return error || exact ? error : arm(view, size, true);
}

static void detach(void *view, size_t size)
{
	struct uffdio_range range = { (uintptr_t)view, size };

	control(uffd, UFFDIO_UNREGISTER, &range);
}

/* The next runs of pages that have been written; -EPERM: the range is exact. */
static long scan(uint64_t *start, uint64_t end, struct region regions[REGIONS])
{
	struct scan arg = {
		.size = sizeof(arg), .flags = SCAN_ARMED_ONLY, .start = *start, .end = end,
		.vec = (uintptr_t)regions, .vec_len = REGIONS, .mask = WRITTEN, .return_mask = WRITTEN,
	};
	long n = control(pagemap, SCAN, &arg);

	*start = arg.walk_end;
	return n;
}

static bool is_exact(void *view)
{
	struct region regions[REGIONS];
	uint64_t at = (uintptr_t)view;

	return scan(&at, at + ADSM_PAGE_SIZE, regions) < 0;
}

/* Of a closed page it stays as it is whether it has been written. */
static int permit(void *view, size_t size, enum adsm_prot was, enum adsm_prot now)
{
	int error = 0;

	if (now == ADSM_PROT_NONE || is_exact(view))
		return adsm_engine_sigsegv.permit(view, size, was, now);
	if (now == ADSM_PROT_RW || was == ADSM_PROT_RW)
		error = arm(view, size, now == ADSM_PROT_READ);
	return error || was != ADSM_PROT_NONE ? error : adsm_engine_sigsegv.permit(view, size, was, ADSM_PROT_RW);
}

static int collect(void *view, size_t size, adsm_written_handler *written, void *arg)
{
	uint64_t at = (uintptr_t)view, end = at + size;
	struct region regions[REGIONS];

	while (at < end) {
		long n = scan(&at, end, regions);

		if (n < 0)
			return n == -EPERM ? 0 : (int)n;
		for (long i = 0; i < n; i++) {
			void *pages = (void *)(uintptr_t)regions[i].start;
			size_t length = regions[i].end - regions[i].start;
			int error = written(arg, pages, length) ? arm(pages, length, true) : 0;

			if (error)
				return error;
		}
	}
	return 0;
}

static const struct adsm_engine collecting = {
	.name = "collecting",
	.passes_writes = true,
	.start = start,
	.stop = stop,
	.attach = attach,
	.detach = detach,
	.permit = permit,
	.collect = collect,
};

__attribute__((constructor)) static void add(void)
{
	const char *name = getenv("ADSM_ENGINE");

	if (adsm_engine_add(&collecting))
		__builtin_trap();
	if (!name || strcmp(name, collecting.name))
		return;
	if (open_both())
		setenv("TEST_SKIP", "the system does not note which pages are written (Linux 6.7), or forbids it", 0);
	close(uffd);
	close(pagemap);
}
