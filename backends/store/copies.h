/* SPDX-License-Identifier: MIT */
/*
 * copies.h - what a worker of a task has of main memory: a software cache of whole pages in its core's local store. It
 * is the store that its loads and stores find (adsm_scratchpad.h); a page that was only read has no dirty word, so the
 * first store to it comes here, too.
 *
 * Where pages come from, and who else sees what was written, is another's affair: struct adsm_copies_below.
 */
#ifndef ADSM_SCRATCHPAD_COPIES_H
#define ADSM_SCRATCHPAD_COPIES_H

#include "adsm_scratchpad.h"
#include "store/layout.h"

#include <stdbool.h>
#include <stdint.h>

#define ADSM_COPIES_BLOCKS 64		/* in which a page is looked at, where accesses are counted */

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
	uint8_t *twin;			/* room for one in main memory; NULL: nobody wants one */
};

struct adsm_copies;

/* The memory that these are copies of. Pages are named by their first byte; all is done in the worker's thread. */
struct adsm_copies_below {
	bool twins;			/* slots have room for them */
	/* @size bytes of a page may be read, or written. */
	bool (*may)(const struct adsm_copies *pages, uint64_t address, uint64_t size, bool write);
	/* A page's bytes; @write: it is written next. Returns since when they are the page's. */
	uint64_t (*fetch)(struct adsm_copies *pages, uint64_t page, uint8_t *bytes, uint8_t *twin, bool write);
	/* A page that is here and was only read is written next. */
	void (*own)(struct adsm_copies *pages, uint64_t page, uint8_t *bytes, uint8_t *twin);
	/* One that was written to. @keep: it stays here. Whether it may then be written on without own(). */
	bool (*send)(struct adsm_copies *pages, uint64_t page, const uint8_t *bytes, uint8_t *twin, bool keep);
	/* One that was not, and leaves. */
	void (*drop)(struct adsm_copies *pages, uint64_t page);
	/* One that the worker was told to give up, of which it has used these blocks; where accesses are counted. */
	void (*gave_up)(struct adsm_copies *pages, uint64_t page, const uint8_t *bytes, uint64_t touched);
	/* Has somebody else changed it? */
	bool (*is_old)(struct adsm_copies *pages, uint64_t page, const struct adsm_copies_slot *slot);
	/* The memory itself, for an atomic operation; NULL: there is none. And what that changed. */
	uint8_t *(*reach)(struct adsm_copies *pages, uint64_t address, uint64_t size, bool write);
	void (*note)(struct adsm_copies *pages, uint64_t address, uint64_t blocks);
};

/* At the beginning of a core's window. */
struct adsm_copies {
	struct adsm_store store;
	const struct adsm_copies_below *below;
	void *arg;			/* its own */
	uint32_t page, page_shift;
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
 * An empty cache at the beginning of a store, of which @layout is that of tasks with pages of so many bytes. -ENOMEM:
 * no memory beside the store. Before each task: adsm_copies_begin().
 */
int adsm_copies_init(struct adsm_copies *pages, const struct adsm_scratchpad_layout *layout, uint32_t page,
		     const struct adsm_copies_below *below, void *arg, uint32_t worker,
		     void (*wrong)(uint64_t address, const char *what));
/* Forget all, and what was counted. */
void adsm_copies_begin(struct adsm_copies *pages, bool counted);
/* R3: send what is dirty. Before a lock is given back, before a barrier, at the end. */
void adsm_copies_release(struct adsm_copies *pages);
/* R4: give up what others have changed; what is dirty of that is sent before. After a lock was got, and a barrier. */
void adsm_copies_acquire(struct adsm_copies *pages);
/* Send what is dirty of these bytes' pages, and give them up. */
void adsm_copies_flush(struct adsm_copies *pages, uint64_t address, uint64_t size);
void adsm_copies_flush_all(struct adsm_copies *pages);
/* The page is another's now: it is sent if it is dirty, and gone. Below knows that. */
void adsm_copies_give_up(struct adsm_copies *pages, uint64_t page);

#endif
