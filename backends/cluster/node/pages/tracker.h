/* SPDX-License-Identifier: MIT */
/* node/pages/tracker.h - the contract of trackers: how touches and stores are seen. */
#ifndef ADSM_CLUSTER_TRACKER_H
#define ADSM_CLUSTER_TRACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "types.h"

/* What lacks a note is called with the table's lock, or where no kernel runs. */
struct adsm_tracker {
	const char *name;
	int signal;				/* by which touches come */
	bool keeps_twins;			/* from launch to launch, and keeps them up to date */
	/* The view is there from then on, inaccessible. -ENOTSUP: @ret_lacks says why not. */
	int (*start)(uintptr_t base, size_t size, int fd, const char **ret_lacks);
	void (*stop)(void);
	/* Pages of no object, over which something was mapped, are as at the start. @fd: the memory's. Any time. */
	int (*restore)(struct adsm_run run, int fd);
	int (*add)(struct adsm_run run);	/* the table has these pages already */
	void (*remove)(struct adsm_run run);	/* and here it still has */
	/*
	 * A valid page is touched: open it. May give the lock back meanwhile. -EAGAIN: @ret_need must be valid first.
	 * -ENOMEM: it cannot be opened. Runs in a handler.
	 */
	int (*touch)(uint64_t page, bool write, struct adsm_run *ret_need);
	/* Pages became valid: open them, where that is cheap. May give the lock back meanwhile. */
	void (*show)(struct adsm_run run);
	void (*close)(struct adsm_run run);	/* the next touch is a fault again */
	/* What is read only is in the table, @old is the set before. Flags of what was written stay as they are. */
	int (*begin)(const struct adsm_run *old, size_t n_old);
	void (*collect)(void);			/* mark all pages that have been written */
};

/* mprotect() and twins: everywhere. */
extern const struct adsm_tracker adsm_tracker_sigsegv;
/* userfaultfd: the system notes stores. */
extern const struct adsm_tracker adsm_tracker_uffd;

#endif
