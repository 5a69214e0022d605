/* SPDX-License-Identifier: MIT */
/*
 * copies.h - what a worker of a task has of main memory: a software cache of whole pages in its core's local store, by
 * crc.h. It is the store that its loads and stores find (adsm_scratchpad.h); a page that was only read has no dirty
 * word, so the first store to it comes here, too.
 *
 * Twins are in main memory, one for each page that the cache has room for: a page's twin is made when it is first
 * written, of the worker's own copy, and stays with it until the page is given up.
 */
#ifndef ADSM_SCRATCHPAD_COPIES_H
#define ADSM_SCRATCHPAD_COPIES_H

#include "adsm_scratchpad.h"
#include "crc.h"
#include "scratchpad/layout.h"

/* Of accesses, one of several pages counts for each; only where they are to be counted. */
struct adsm_copies_counts {
	uint64_t reads, writes;
	uint64_t read_misses, write_misses, upgrades;	/* upgrades: of pages that were held for reading */
	uint64_t sent_on_miss, sent_on_sync;	/* dirty pages */
	uint64_t given_up;		/* pages that others had changed, at acquires */
	uint64_t shared_falsely;	/* of these such as had no data of theirs that the worker used */
	uint64_t direct;
	uint64_t moved[ADSM_SCRATCHPAD_PAGE_SIZES];	/* bytes, had pages been smaller: the last one is as it was */
};

struct adsm_copies_slot {		/* a page of the cache, wherever in its set it is looked for */
	uint64_t since;
	bool write;			/* it may be written, and its twin is there */
	uint64_t touched, written;	/* blocks of it, where accesses are counted */
	uint8_t *twin;
};

/* At the beginning of a core's window. */
struct adsm_copies {
	struct adsm_store store;
	struct adsm_crc *crc;
	uint32_t worker;
	uint32_t n_pages, n_ways, n_sets;
	bool counted;
	uint8_t *bytes;			/* of all pages, in the store */
	uint64_t *dirty;		/* a word for each: not 0: it was written since it was sent */
	struct adsm_copies_slot *slots;	/* in main memory */
	struct adsm_store_way *ways, *none;	/* where accesses are counted kernels find nothing, and ask */
	/* Of an access to what is no memory of the device's: does not return. */
	void (*wrong)(uint64_t address, const char *what);
	struct adsm_copies_counts counts;
};

_Static_assert(sizeof(struct adsm_copies) <= ADSM_SCRATCHPAD_CONTROL, "a store's control has room for it");

/*
 * An empty cache at the beginning of a store, of which @layout is that of tasks. -ENOMEM: no twins. Before each task:
 * adsm_copies_begin().
 */
int adsm_copies_init(struct adsm_copies *pages, const struct adsm_scratchpad_layout *layout, struct adsm_crc *crc,
		    uint32_t worker, void (*wrong)(uint64_t address, const char *what));
/* Forget all, and what was counted. */
void adsm_copies_begin(struct adsm_copies *pages, bool counted);
/* R3: send what is dirty. Before a lock is given back, before a barrier, at the end. */
void adsm_copies_release(struct adsm_copies *pages);
/* R4: give up what others have changed; what is dirty of that is sent before. After a lock was got, and a barrier. */
void adsm_copies_acquire(struct adsm_copies *pages);
/* Send what is dirty of these bytes' pages, and give them up. */
void adsm_copies_flush(struct adsm_copies *pages, uint64_t address, uint64_t size);
void adsm_copies_flush_all(struct adsm_copies *pages);

#endif
