/* SPDX-License-Identifier: MIT */
/* node/pages/types.h - words of pages.h. */
#ifndef ADSM_CLUSTER_TYPES_H
#define ADSM_CLUSTER_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/node/net/runs.h"

enum adsm_track { ADSM_TRACK_AUTO, ADSM_TRACK_SIGSEGV, ADSM_TRACK_UFFD };

/* What a kernel did that it may not do. */
enum adsm_pages_wrong {
	ADSM_PAGES_ILLEGAL,			/* touched memory of the arena that belongs to no object */
	ADSM_PAGES_STORE,			/* wrote to an object that the call only reads */
	ADSM_PAGES_NO_MEMORY,			/* nothing: the system has no memory, or no mappings for it */
	ADSM_PAGES_PLAIN,			/* touched memory of the arena, and is a task: it is to ask its cache */
};

struct adsm_pages_config {
	uintptr_t base;				/* the arena: reserved address space, replaced by the view */
	size_t size;
	int fd;					/* its memory; after the start for adsm_pages_restore() alone */
	bool home;
	enum adsm_track track;
	unsigned max_read_ahead;		/* pages that are fetched at once at most; 0: 256, 1 MiB */
	/* Both in a signal handler of the thread that faulted, with all signals blocked and no lock held. A page is
	 * wanted: have the communication thread ask adsm_pages_wanted(). An error of the kernel's: does not return. */
	void (*wake)(void);
	/* Nor may the calling thread touch any: NULL: each may. */
	bool (*refuses)(void);
	void (*error)(uint64_t address, enum adsm_pages_wrong why);
};

struct adsm_pages_counts {
	uint64_t write_faults;			/* pages written, each once per launch */
	uint64_t read_faults;			/* touches of pages that the node lacked, each page once */
	uint64_t first_touches;			/* of pages that it had, whose first touch was to be seen */
	uint64_t fetched;			/* pages that were asked for: with those read ahead */
	uint64_t waited_ns;			/* by threads that run kernels, until pages were there */
	uint64_t twins;
	uint64_t widened;			/* pages opened or closed for a neighbour, for lack of mappings */
};

#endif
