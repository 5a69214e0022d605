/* SPDX-License-Identifier: MIT */
/* node/pages/tracker.h - the contract of trackers: how touches and stores are detected. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "types.h"

/* Functions without a remark are called with the table's lock held, or while no kernel runs. */
struct adsm_tracker {
	const char *name;
	int signal;				/* the signal of touches */
	bool keeps_twins;			/* keeps twins from launch to launch, and updates them */
	/* Map the view, inaccessible. Returns -ENOTSUP, with the reason in @ret_lacks, if the system does not support
	 * the tracker. */
	int (*start)(uintptr_t base, size_t size, int fd, const char **ret_lacks);
	void (*stop)(void);
	/* Map pages of no object as they were at the start, after other memory was mapped there. @fd: the memory's. At
	 * any time. */
	int (*restore)(struct adsm_run run, int fd);
	int (*add)(struct adsm_run run);	/* the pages are in the table already */
	void (*remove)(struct adsm_run run);	/* the pages are still in the table */
	/*
	 * A valid page was touched: open it. Called in a signal handler. May release the lock temporarily. Returns 0,
	 * or:
	 * - -EAGAIN: @ret_need must become valid first.
	 * - -ENOMEM: the page cannot be opened.
	 */
	int (*touch)(uint64_t page, bool write, struct adsm_run *ret_need);
	/* Pages have become valid: open them, if that is cheap. May release the lock temporarily. */
	void (*show)(struct adsm_run run);
	void (*close)(struct adsm_run run);	/* the next touch causes a fault again */
	/* The table has the new set of read-only runs; @old is the previous set. Must not change the flags of written
	 * pages. */
	int (*begin)(const struct adsm_run *old, size_t n_old);
	void (*collect)(void);			/* set the flag of all pages that were written */
};

/* By mprotect() and twins; works on every system. */
extern const struct adsm_tracker adsm_tracker_sigsegv;
/* By userfaultfd: the system records stores. */
extern const struct adsm_tracker adsm_tracker_uffd;
