/* SPDX-License-Identifier: MIT */
/*
 * base/uffd.h - userfaultfd(2) on a shared mapping of a file in memory, without a thread that serves it. A touch of a
 * page that is not mapped raises SIGBUS in the thread that touches it, and the system itself records which pages are
 * written. Mappings are never split. Needs Linux 6.7.
 *
 * Views and sizes are whole pages. Functions return 0 or a negative errno; those marked [signal] may run in a handler.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adsm_uffd {
	int fd;
	int pagemap;		/* /proc/self/pagemap */
};

/* Open it, and try it on two pages, as a system may list a feature that does not work. -ENOTSUP: *@ret_lacks says what
 * this system lacks or forbids, as the "…" in "userfaultfd: …". */
int adsm_uffd_open(struct adsm_uffd *ret_uffd, const char **ret_lacks);
void adsm_uffd_close(struct adsm_uffd *uffd);
/* Attach a view until its mapping ends or adsm_uffd_close(). None of its pages may be mapped yet. */
int adsm_uffd_attach(const struct adsm_uffd *uffd, void *view, size_t size);

/* Map the pages of the file, or zeros if it has none; pages that are mapped already stay as they are. @clean: the next
 * store to a page is recorded as a write; else the page counts as written already. */
int adsm_uffd_map(const struct adsm_uffd *uffd, void *view, size_t size, bool clean);	/* [signal] */
/* Unmap pages: the next touch of them raises SIGBUS. The file keeps its contents. */
void adsm_uffd_unmap(void *view, size_t size);						/* [signal] */

struct adsm_uffd_written { uint64_t start, end; };	/* addresses */

/*
 * Find runs of pages that have been written, and make them clean. Pages that are not mapped may be among them. The
 * search covers [@start, @end), and stops when @n runs are found; @ret_end: how far it came. Returns the number of
 * runs, or a negative errno.
 */
long adsm_uffd_collect(const struct adsm_uffd *uffd, uintptr_t start, uintptr_t end, struct adsm_uffd_written *runs,
		       size_t n, uintptr_t *ret_end);
