/* SPDX-License-Identifier: MIT */
/*
 * node/pages/sigsegv.c - a tracker that uses mprotect() and twins.
 *
 * Each border between pages with different protections needs one more mapping. The number of mappings of a process is
 * limited (vm.max_map_count), and other code needs some, too. If half of them are used, pages are opened and closed
 * together with their neighbours. A neighbour that is opened for stores gets a twin, too, and counts as written if it
 * differs from the twin in the end. A neighbour that is closed stays valid, and its next touch opens it again.
 */
#include "tracker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "table.h"

#define OPEN_BITS ((unsigned)(ADSM_PAGE_OPEN | ADSM_PAGE_WRITABLE))
#define WIDEST 40			/* 2^40 pages: more than there are */

static uint64_t n_borders, most_borders;

/* Runs of 2^level pages have one protection: single pages at first, then 64, 512, … as the number of mappings grows. */
static unsigned level(void)
{
	return n_borders < most_borders ? 0 : 6 + (unsigned)(3 * ((n_borders - most_borders) / (most_borders / 4 + 1)));
}

static unsigned wider(unsigned n)
{
	return n ? n + 1 : 6;
}

static unsigned bits_at(uint64_t page)
{
	return adsm_table.flags[page] & OPEN_BITS;
}

/* Returns -ENOMEM if the system refuses; then it may have changed a part, but the flags are unchanged. */
static int protect(struct adsm_run run, unsigned bits)
{
	const enum adsm_prot prot = !bits ? ADSM_PROT_NONE : bits & ADSM_PAGE_WRITABLE ? ADSM_PROT_RW : ADSM_PROT_READ;
	const uint64_t end = run.first + run.n;
	unsigned before = bits_at(run.first - 1);
	uint64_t n_old = 0;
	int ret = adsm_os_protect(adsm_table.view + adsm_table_offset(run.first), adsm_table_offset(run.n), prot);

	if (ret)
		return ret;
	for (uint64_t page = run.first; page <= end; page++) {
		n_old += bits_at(page) != before;
		before = bits_at(page);
		if (page == end)
			break;
		adsm_table_clear(page, OPEN_BITS);
		adsm_table_set(page, bits);
	}
	n_borders += (bits_at(run.first - 1) != bits) + (bits_at(end) != bits);
	n_borders -= n_old;
	return 0;
}

static int start(uintptr_t base, size_t size, int fd, const char **ret_lacks)
{
	char text[32];
	void *view;

	n_borders = 0;
	most_borders = strtoul(adsm_os_read_text("/proc/sys/vm/max_map_count", text, sizeof(text)), NULL, 10) / 2;
	most_borders = most_borders ? most_borders : 32765;
	return adsm_os_map((void *)base, size, fd, 0, ADSM_PROT_NONE, &view);
}

static void stop(void)
{
	adsm_os_unmap_to_reserve(adsm_table.view, adsm_table_offset(adsm_table.n));
}

static int restore(struct adsm_run run, int fd)
{
	const size_t offset = adsm_table_offset(run.first);
	void *view;

	return adsm_os_map(adsm_table.view + offset, adsm_table_offset(run.n), fd, offset, ADSM_PROT_NONE, &view);
}

/* Failures do no harm: pages that stay closed are opened when they are touched. */
static void show(struct adsm_run run)
{
	const uint64_t end = run.first + run.n;

	for (uint64_t page = run.first, n; page < end && !level(); page += n) {
		n = adsm_table_length(page, end, ADSM_PAGE_OPEN, 0);
		if (n)
			protect((struct adsm_run) { page, n }, ADSM_PAGE_OPEN);
		else
			n = adsm_table_length(page, end, ADSM_PAGE_OPEN, ADSM_PAGE_OPEN);
	}
}

static int add(struct adsm_run run)
{
	if (adsm_table.home)
		show(run);
	return 0;
}

/* Close wider and wider runs until there are enough mappings. A whole object needs no more than before it was added. */
static void close_run(struct adsm_run run)
{
	struct adsm_run wide;

	for (unsigned n = level(); n <= WIDEST; n = wider(n)) {
		wide = adsm_table_around(run, UINT64_C(1) << n);
		if (!protect(wide, 0))
			break;
	}
}

/* The rest of the run from its first page that is not available; .n 0: all pages are available. */
static struct adsm_run lacking(struct adsm_run run)
{
	const uint64_t end = run.first + run.n;
	const unsigned mask = ADSM_PAGE_VALID | ADSM_PAGE_ASKED;
	const uint64_t page = run.first + adsm_table_length(run.first, end, mask, ADSM_PAGE_VALID);

	return (struct adsm_run) { page, end - page };
}

/* Open a whole run. If it is opened for stores, these are not detected: every page needs a twin. */
static int open_run(struct adsm_run run, bool write)
{
	for (uint64_t page = run.first; page < run.first + run.n; page++)
		write = write || adsm_table_has(page, ADSM_PAGE_WRITABLE);
	for (uint64_t page = run.first; write && page < run.first + run.n; page++)
		if (!adsm_table_has(page, ADSM_PAGE_TWIN))
			adsm_table_take_twin(page);
	return protect(run, write ? OPEN_BITS : ADSM_PAGE_OPEN);
}

static int touch(uint64_t page, bool write, struct adsm_run *ret_need)
{
	const unsigned wanted = write ? OPEN_BITS : ADSM_PAGE_OPEN;
	int ret = 0;

	/* The loop ends early if another thread has opened the page. */
	for (unsigned n = level(); (adsm_table.flags[page] & wanted) != wanted && n <= WIDEST; n = wider(n)) {
		const struct adsm_run run = adsm_table_around((struct adsm_run) { page, 1 }, UINT64_C(1) << n);
		const struct adsm_run need = lacking(run);

		if (need.n) {
			*ret_need = need;
			return -EAGAIN;
		}
		ret = open_run(run, write);
		if (ret != -ENOMEM)
			break;
	}
	if (!ret && write && !adsm_table_has(page, ADSM_PAGE_WRITTEN)) {
		adsm_table_set(page, ADSM_PAGE_WRITTEN);
		adsm_table.counts.write_faults++;
	}
	return ret;
}

/* Make written pages read-only again, together with adjacent open pages: the result is one mapping. */
static int begin(const struct adsm_run *old, size_t n_old)
{
	struct adsm_run run;
	uint64_t at = 0;
	int ret = 0;

	for (size_t i = 0; !ret && adsm_table_next_changed(&i, &at, &run);) {
		const uint64_t end = run.first + run.n;

		for (uint64_t page = run.first, n; !ret && page < end; page += n ? n : 1) {
			n = adsm_table_length(page, end, ADSM_PAGE_OPEN, ADSM_PAGE_OPEN);
			if (n && adsm_table_length(page, page + n, OPEN_BITS, ADSM_PAGE_OPEN) < n)
				ret = protect((struct adsm_run) { page, n }, ADSM_PAGE_OPEN);
		}
	}
	return ret;
}

static void collect(void)
{
	struct adsm_run run;
	uint64_t at = 0;

	for (size_t i = 0; adsm_table_next_changed(&i, &at, &run);)
		for (uint64_t page = run.first; page < run.first + run.n; page++) {
			const size_t offset = adsm_table_offset(page);

			if (!adsm_table_has(page, ADSM_PAGE_WRITABLE) || adsm_table_has(page, ADSM_PAGE_WRITTEN) ||
			    !memcmp(adsm_table.alias + offset, adsm_table.twins + offset, ADSM_PAGE_SIZE))
				continue;
			adsm_table_set(page, ADSM_PAGE_WRITTEN);
			adsm_table.counts.write_faults++;
		}
}

const struct adsm_tracker adsm_tracker_sigsegv = {
	.name = "sigsegv",
	.signal = SIGSEGV,
	.start = start,
	.stop = stop,
	.restore = restore,
	.add = add,
	.remove = close_run,
	.touch = touch,
	.show = show,
	.close = close_run,
	.begin = begin,
	.collect = collect,
};
