/* SPDX-License-Identifier: MIT */
/*
 * copies.h - a task's worker's copies of main memory: a software cache of whole pages in the local store of its core.
 * It is the store that the worker's loads and stores use (adsm_scratchpad.h). A page that was only read has no dirty
 * word, so the first store to it calls this cache, too.
 *
 * Where pages come from, and which other workers see stores, is decided by struct adsm_copies_below.
 */
#pragma once

#include "adsm_scratchpad.h"
#include "store/core.h"
#include "store/layout.h"

#include <stdbool.h>
#include <stdint.h>

#define ADSM_COPIES_BLOCKS 64		/* parts of a page that are observed separately, if accesses are counted */

/*
 * Counts that the costs of devices contain, too. Accesses are only counted on request. An access to several pages
 * counts once for each.
 * upgrades: stores to pages that were in the cache for reading.
 * sent_on_miss, sent_on_sync: number of dirty pages.
 * given_up: pages that others had changed, given up at acquires.
 * shared_falsely: of these: others had changed nothing that the worker used.
 */
#define ADSM_COPIES_COUNTS(X) \
	X(READS, reads) X(WRITES, writes) X(READ_MISSES, read_misses) X(WRITE_MISSES, write_misses) \
	X(UPGRADES, upgrades) X(SENT_ON_MISS, sent_on_miss) X(SENT_ON_SYNC, sent_on_sync) \
	X(GIVEN_UP, given_up) X(SHARED_FALSELY, shared_falsely)

struct adsm_copies_counts {
#define FIELD(upper, name) uint64_t name;
	ADSM_COPIES_COUNTS(FIELD)
#undef FIELD
	uint64_t direct;
	/* Bytes, if pages were smaller; the last one: with the real size. */
	uint64_t moved[ADSM_SCRATCHPAD_PAGE_SIZES];
};

struct adsm_copies_slot {		/* describes a page of the cache, in any way */
	uint64_t since;
	bool write;			/* it may be written, and its twin exists */
	uint64_t touched, written;	/* blocks, if accesses are counted */
	uint8_t *twin;			/* memory for a twin, in main memory; NULL: not used */
};

struct adsm_copies;

/* The memory below the cache. A page is identified by its first byte. All functions run in the worker's thread. */
struct adsm_copies_below {
	bool twins;			/* slots need memory for twins */
	/* May @size bytes in a page be read, or written? */
	bool (*may)(const struct adsm_copies *pages, uint64_t address, uint64_t size, bool write);
	/* Get the bytes of a page; @write: it will be written. Returns the time since which the bytes are current. */
	uint64_t (*fetch)(struct adsm_copies *pages, uint64_t page, uint8_t *bytes, uint8_t *twin, bool write);
	/* A page in the cache that was only read will be written. */
	void (*own)(struct adsm_copies *pages, uint64_t page, uint8_t *bytes, uint8_t *twin);
	/* Send a page that was written. @keep: it stays in the cache. Returns whether it may be written again without
	 * own(). */
	bool (*send)(struct adsm_copies *pages, uint64_t page, const uint8_t *bytes, uint8_t *twin, bool keep);
	/* A page that was not written leaves the cache. */
	void (*drop)(struct adsm_copies *pages, uint64_t page);
	/* The worker had to give up a page; it has used the blocks @touched. Only called if accesses are counted. */
	void (*gave_up)(struct adsm_copies *pages, uint64_t page, const uint8_t *bytes, uint64_t touched);
	/* Has another worker changed the page? */
	bool (*is_old)(struct adsm_copies *pages, uint64_t page, const struct adsm_copies_slot *slot);
	/* The memory itself, for an atomic operation; NULL: invalid address. note() reports what the operation
	 * changed. */
	uint8_t *(*reach)(struct adsm_copies *pages, uint64_t address, uint64_t size, bool write);
	void (*note)(struct adsm_copies *pages, uint64_t address, uint64_t blocks);
};

/* At the beginning of a core's window. */
struct adsm_copies {
	struct adsm_store store;
	const struct adsm_copies_below *below;
	void *arg;			/* for the functions of below */
	uint32_t page, page_shift;
	uint32_t worker;
	uint32_t n_pages, n_ways, n_sets;
	bool counted;
	uint8_t *bytes;			/* all pages, in the local store */
	uint64_t *dirty;		/* a word for each page; not 0: written since it was last sent */
	struct adsm_copies_slot *slots;	/* in main memory */
	/* none: empty ways. If accesses are counted, kernels see only these, and call the cache. */
	struct adsm_store_way *ways, *none;
	/* Called for an access outside of the device's memory; does not return. */
	void (*wrong)(uint64_t address, const char *what);
	struct adsm_copies_counts counts;
};

_Static_assert(sizeof(struct adsm_copies) <= ADSM_SCRATCHPAD_CONTROL, "a store's control has room for it");

/*
 * Initialize an empty cache at the beginning of a store. Call adsm_copies_begin() before each task.
 * @layout: the layout for tasks, with pages of @page bytes.
 * Returns 0, or -ENOMEM if there is no memory outside of the store.
 */
int adsm_copies_init(struct adsm_copies *pages, const struct adsm_scratchpad_layout *layout, uint32_t page,
		     const struct adsm_copies_below *below, void *arg, uint32_t worker,
		     void (*wrong)(uint64_t address, const char *what));
/* Empty the cache, and reset the counts. */
void adsm_copies_begin(struct adsm_copies *pages, bool counted);
/* Rule R3: send all dirty pages. Call this before a lock is released, before a barrier, and at the end. */
void adsm_copies_release(struct adsm_copies *pages);
/* Rule R4: give up the pages that others have changed; dirty ones are sent first. Call this after getting a lock, and
 * after a barrier. */
void adsm_copies_acquire(struct adsm_copies *pages);
/* Send the pages of these bytes if they are dirty, and give them up; all pages if @size is 0. */
void adsm_copies_flush(struct adsm_copies *pages, uint64_t address, uint64_t size);
void adsm_copies_flush_all(struct adsm_copies *pages);
/* Give up a page that another worker has changed; send it first if it is dirty. The memory below requests this. */
void adsm_copies_give_up(struct adsm_copies *pages, uint64_t page);

/* ---- the cores of all workers of a process, each with such a cache; a core stays for later tasks */

struct adsm_copies_cores {
	struct adsm_scratchpad_layout layout;	/* this and the next members: parameters of adsm_copies_init() */
	uint32_t page;
	const struct adsm_copies_below *below;
	void *arg;
	void (*wrong)(uint64_t address, const char *what);
	const struct adsm_kernel_services *services;	/* for the kernels of the workers; NULL: none */
	struct adsm_core *of;		/* an array with an element for each possible worker */
	uint32_t n;			/* cores made */
};

/* Make cores until there are @n. Returns 0, or -ENOMEM and no further core. */
#define ADSM_COPIES_NO_MEMORY "task '%s': not enough memory for the cores of its workers"
int adsm_copies_make(struct adsm_copies_cores *cores, uint32_t n);
/* Return the sums of the counts of the first @n cores. */
struct adsm_copies_counts adsm_copies_sum(const struct adsm_copies_cores *cores, uint32_t n);
