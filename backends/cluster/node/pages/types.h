/* SPDX-License-Identifier: MIT */
/* node/pages/types.h - types of pages.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/node/net/runs.h"

enum adsm_track { ADSM_TRACK_AUTO, ADSM_TRACK_SIGSEGV, ADSM_TRACK_UFFD };

/* What a kernel did wrong. */
enum adsm_pages_wrong {
	ADSM_PAGES_ILLEGAL,			/* touched memory of the arena that belongs to no object */
	ADSM_PAGES_STORE,			/* wrote to an object that the call only reads */
	ADSM_PAGES_NO_MEMORY,			/* nothing: the system lacks memory or mappings */
	ADSM_PAGES_PLAIN,			/* touched memory of the arena in a task, which must use its cache */
};

struct adsm_pages_config {
	uintptr_t base;				/* the arena: a reserved range, which the view replaces */
	size_t size;
	int fd;					/* its memory; after the start only for adsm_pages_restore() */
	bool home;
	enum adsm_track track;
	unsigned max_read_ahead;		/* maximum number of pages in a fetch; 0: 256, 1 MiB */
	/* Called in a signal handler of the thread that faulted, with all signals blocked and no lock held. A page is
	 * wanted: make the communication thread call adsm_pages_wanted(). */
	void (*wake)(void);
	/* refuses(): may the calling thread touch no pages? NULL: all threads may. error(): called like wake(), for an
	 * error of a kernel; does not return. */
	bool (*refuses)(void);
	void (*error)(uint64_t address, enum adsm_pages_wrong why);
};

struct adsm_pages_counts {
	uint64_t write_faults;			/* pages written, each counted once per launch */
	uint64_t read_faults;			/* touches of pages that the node lacked, each page counted once */
	uint64_t first_touches;			/* touches of present pages whose first touch was to be detected */
	uint64_t fetched;			/* pages that were requested, including those read ahead */
	uint64_t waited_ns;			/* time that threads of kernels waited for pages */
	uint64_t twins;
};
