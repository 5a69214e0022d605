/* SPDX-License-Identifier: MIT */
/*
 * base/uffd.h - userfaultfd(2) on a shared mapping of a file in memory, without a thread that serves it: a touch of a
 * page that is not mapped raises SIGBUS in the thread that touches it, and the system itself notes which pages are
 * written. No mapping is ever split. Linux 6.7 and later.
 *
 * Views and sizes are whole pages. Functions return 0 or a negative errno; those marked [signal] may run in a handler.
 */
#ifndef ADSM_UFFD_H
#define ADSM_UFFD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adsm_uffd {
	int fd;
	int pagemap;		/* /proc/self/pagemap */
};

/*
 * Tried out on two pages, since a system may know a feature by name only. -ENOTSUP: @ret_lacks says what this one lacks
 * or forbids, as "…" in "userfaultfd: …".
 */
int adsm_uffd_open(struct adsm_uffd *ret_uffd, const char **ret_lacks);
void adsm_uffd_close(struct adsm_uffd *uffd);
/* From now on, until the end of the mapping or adsm_uffd_close(). Nothing of it may be mapped yet. */
int adsm_uffd_attach(const struct adsm_uffd *uffd, void *view, size_t size);

/*
 * Map what the file has there, zeros where that is nothing; what is mapped stays as it is. @clean: the next store to a
 * page counts as one; else the page counts as written already.
 */
int adsm_uffd_map(const struct adsm_uffd *uffd, void *view, size_t size, bool clean);	/* [signal] */
/* The next touch of these pages raises SIGBUS. The file keeps what it has. */
void adsm_uffd_unmap(void *view, size_t size);						/* [signal] */

struct adsm_uffd_written { uint64_t start, end; };	/* addresses */

/*
 * Runs of pages that have been written, and count as clean from here on. Pages that are not mapped may be among them.
 * Looks at [@start, @end) up to where @n runs are found. @ret_end: how far. Returns how many, or a negative errno.
 */
long adsm_uffd_collect(const struct adsm_uffd *uffd, uintptr_t start, uintptr_t end, struct adsm_uffd_written *runs,
		       size_t n, uintptr_t *ret_end);

#endif
