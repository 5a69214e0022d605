/* SPDX-License-Identifier: MIT */
/*
 * node/pages/uffd.c - a tracker that uses userfaultfd. A touch of a page that is not mapped raises SIGBUS. The system
 * records which pages are written, without visible faults. Protections are set for whole objects: no mapping is split.
 *
 * A page is OPEN once it is mapped. The system keeps no copy of a page from before a store. So the home has a twin of
 * each page that its kernels may write. It makes the twin when the page is first touched, for many pages together while
 * touches are in order, and updates it from launch to launch. Other nodes send a page that several nodes wrote as a
 * whole.
 */
#include "tracker.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/os.h"
#include "base/uffd.h"
#include "table.h"
#include "waiting.h"

#define N_FOUND 256

static struct adsm_uffd uffd;
static bool is_collected;		/* no kernel has run since all stores were collected */

static void *view_of(struct adsm_run run)
{
	return adsm_table.view + adsm_table_offset(run.first);
}

static int start(uintptr_t base, size_t size, int fd, const char **ret_lacks)
{
	void *view;
	int ret = adsm_uffd_open(&uffd, ret_lacks);

	if (ret)
		return ret;
	ret = adsm_os_map((void *)base, size, fd, 0, ADSM_PROT_NONE, &view);
	if (!ret)
		ret = adsm_uffd_attach(&uffd, view, size);
	if (ret) {
		adsm_os_unmap_to_reserve((void *)base, size);
		adsm_uffd_close(&uffd);
	}
	is_collected = true;
	return ret;
}

static void stop(void)
{
	adsm_os_unmap_to_reserve(adsm_table.view, adsm_table_offset(adsm_table.n));
	adsm_uffd_close(&uffd);
}

static int restore(struct adsm_run run, int fd)
{
	const size_t size = adsm_table_offset(run.n);
	void *view;
	int ret = adsm_os_map(view_of(run), size, fd, adsm_table_offset(run.first), ADSM_PROT_NONE, &view);

	return ret ? ret : adsm_uffd_attach(&uffd, view, size);
}

/* A part of the file may have no pages yet: those are filled with zeros. */
static int map(struct adsm_run run, bool clean)
{
	int ret = adsm_uffd_map(&uffd, view_of(run), adsm_table_offset(run.n), clean);

	if (ret == -EFAULT) {
		adsm_os_populate(adsm_table.alias + adsm_table_offset(run.first), adsm_table_offset(run.n), true);
		ret = adsm_uffd_map(&uffd, view_of(run), adsm_table_offset(run.n), clean);
	}
	return ret;
}

static void close_run(struct adsm_run run)
{
	adsm_uffd_unmap(view_of(run), adsm_table_offset(run.n));
	for (uint64_t page = run.first; page < run.first + run.n; page++)
		adsm_table_clear(page, ADSM_PAGE_OPEN);
}

static int add(struct adsm_run run)
{
	return adsm_os_protect(view_of(run), adsm_table_offset(run.n), ADSM_PROT_RW);
}

static void remove_run(struct adsm_run run)
{
	close_run(run);
	adsm_os_protect(view_of(run), adsm_table_offset(run.n), ADSM_PROT_NONE);
}

/* The run is marked ASKED and the lock is released meanwhile, because twins take time. */
static int open_run(struct adsm_run run, bool with_twins)
{
	const uint64_t end = run.first + run.n;
	uint64_t n_twins = 0;
	int ret;

	for (uint64_t page = run.first; page < end; page++)
		adsm_table_set(page, ADSM_PAGE_ASKED);
	adsm_unlock(&adsm_table.lock);
	for (uint64_t page = run.first; with_twins && page < end; page++) {
		const size_t offset = adsm_table_offset(page);

		if (adsm_table_has(page, ADSM_PAGE_TWIN))
			continue;
		memcpy(adsm_table.twins + offset, adsm_table.alias + offset, ADSM_PAGE_SIZE);
		n_twins++;
	}
	ret = map(run, true);
	adsm_lock(&adsm_table.lock);
	for (uint64_t page = run.first; page < end; page++) {
		adsm_table_clear(page, ADSM_PAGE_ASKED);
		if (!ret)
			adsm_table.flags[page] |= ADSM_PAGE_OPEN | (with_twins ? ADSM_PAGE_TWIN : 0);
	}
	adsm_table.counts.twins += n_twins;
	return ret;
}

static int touch(uint64_t page, bool write, struct adsm_run *ret_need)
{
	const struct adsm_run *read_only = adsm_table_read_only(page);
	struct adsm_run run = { page, 1 };
	uint64_t end = adsm_table.n;

	/* Another thread has opened it; or the system has unmapped it for lack of memory, and the record of its stores
	 * is lost. */
	if (adsm_table_has(page, ADSM_PAGE_OPEN))
		return map(run, false);
	if (adsm_table.home) {
		if (read_only)
			end = read_only->first + read_only->n;
		run.n = adsm_waiting_ahead(page);
		run.n = adsm_table_length(page, page + run.n < end ? page + run.n : end,
					  ADSM_PAGE_ADDED | ADSM_PAGE_OPEN | ADSM_PAGE_ASKED, ADSM_PAGE_ADDED);
		for (uint64_t n = 1; n < run.n && !read_only; n++)
			if (adsm_table_read_only(page + n))
				run.n = n;
	}
	return open_run(run, adsm_table.home && !read_only);
}

/* On the home the first touch opens a page, because it makes the twin. Failures do no harm, as in sigsegv.c. */
static void show(struct adsm_run run)
{
	const uint64_t end = run.first + run.n;

	for (uint64_t page = run.first, n; page < end && !adsm_table.home; page += n) {
		n = adsm_table_length(page, end, ADSM_PAGE_OPEN, 0);
		if (n)
			open_run((struct adsm_run) { page, n }, false);
		else
			n = adsm_table_length(page, end, ADSM_PAGE_OPEN, ADSM_PAGE_OPEN);
	}
}

/* ---- stores */

/* The system may also report pages that are not mapped. */
static void found(struct adsm_run run)
{
	for (uint64_t page = run.first; page < run.first + run.n; page++) {
		if (!adsm_table_has(page, ADSM_PAGE_ADDED | ADSM_PAGE_OPEN))
			continue;
		if (!adsm_table_has(page, ADSM_PAGE_WRITTEN))
			adsm_table.counts.write_faults++;
		adsm_table_set(page, ADSM_PAGE_WRITTEN | (adsm_table.home ? ADSM_PAGE_STALE : 0));
	}
}

static void collect_run(struct adsm_run run)
{
	uintptr_t at = (uintptr_t)view_of(run);
	const uintptr_t end = at + adsm_table_offset(run.n);

	while (at < end) {
		struct adsm_uffd_written runs[N_FOUND];
		long n = adsm_uffd_collect(&uffd, at, end, runs, N_FOUND, &at);

		/* The system has no memory to collect: treat all pages as written. */
		if (n < 0) {
			found(run);
			break;
		}
		for (long i = 0; i < n; i++)
			found((struct adsm_run) { (runs[i].start - (uintptr_t)adsm_table.view) / ADSM_PAGE_SIZE,
						  (runs[i].end - runs[i].start) / ADSM_PAGE_SIZE });
	}
}

/* Collect all objects except those that the launch only read. */
static void collect(void)
{
	const struct adsm_run *read_only = adsm_table.read_only;
	const struct adsm_run *const no_more = read_only + adsm_table.n_read_only;

	for (size_t i = 0; i < adsm_table.objects.n; i++) {
		uint64_t at = adsm_table.objects.v[i].first;
		const uint64_t end = at + adsm_table.objects.v[i].n;

		for (; read_only < no_more && read_only->first < end; read_only++) {
			if (read_only->first > at)
				collect_run((struct adsm_run) { at, read_only->first - at });
			at = read_only->first + read_only->n;
		}
		if (at < end)
			collect_run((struct adsm_run) { at, end - at });
	}
	is_collected = true;
}

/* ---- between launches */

static bool is_among(struct adsm_run run, const struct adsm_run *runs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (runs[i].first == run.first && runs[i].n == run.n)
			return true;
	return false;
}

/* Allow stores again; on the home, the next touch does that, because it makes a twin. Some pages may belong to no
 * object any more. */
static int allow_stores(struct adsm_run run)
{
	const uint64_t end = run.first + run.n;
	int ret = 0;

	for (uint64_t page = run.first, n; !ret && page < end; page += n ? n : 1) {
		n = adsm_table_length(page, end, ADSM_PAGE_ADDED, ADSM_PAGE_ADDED);
		if (n && adsm_table.home)
			close_run((struct adsm_run) { page, n });
		if (n)
			ret = adsm_os_protect(adsm_table.view + adsm_table_offset(page), adsm_table_offset(n),
					      ADSM_PROT_RW);
	}
	return ret;
}

/* Twins stay from launch to launch. A twin of a changed page is updated if the page is open; otherwise it is dropped,
 * and made again when it is needed. */
static void refresh_twins(void)
{
	struct adsm_run run;
	uint64_t at = 0;

	for (size_t i = 0; adsm_table_next_changed(&i, &at, &run);)
		for (uint64_t page = run.first; page < run.first + run.n; page++) {
			if (!adsm_table_has(page, ADSM_PAGE_STALE | ADSM_PAGE_TWIN))
				continue;
			if (adsm_table_has(page, ADSM_PAGE_OPEN))
				adsm_table_take_twin(page);
			else
				adsm_table_clear(page, ADSM_PAGE_TWIN);
		}
}

static int begin(const struct adsm_run *old, size_t n_old)
{
	const struct adsm_page_table *t = &adsm_table;
	int ret = 0;

	/* The previous launch did not collect what was written. */
	if (!is_collected)
		collect();
	for (size_t i = 0; !ret && i < n_old; i++)
		if (!is_among(old[i], t->read_only, t->n_read_only))
			ret = allow_stores(old[i]);
	for (size_t i = 0; !ret && i < t->n_read_only; i++)
		if (!is_among(t->read_only[i], old, n_old))
			ret = adsm_os_protect(view_of(t->read_only[i]), adsm_table_offset(t->read_only[i].n),
					      ADSM_PROT_READ);
	refresh_twins();
	is_collected = false;
	return ret;
}

const struct adsm_tracker adsm_tracker_uffd = {
	.name = "uffd",
	.signal = SIGBUS,
	.keeps_twins = true,
	.start = start,
	.stop = stop,
	.restore = restore,
	.add = add,
	.remove = remove_run,
	.touch = touch,
	.show = show,
	.close = close_run,
	.begin = begin,
	.collect = collect,
};
