/* SPDX-License-Identifier: MIT */
/* node/pages/table.h - what a node knows of each page: a byte of flags, its twin, the objects it belongs to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os.h"
#include "cluster/node/net/runs.h"
#include "types.h"

enum {
	ADSM_PAGE_ADDED = 1 << 0,	/* belongs to an object */
	ADSM_PAGE_VALID = 1 << 1,	/* this node has its bytes */
	ADSM_PAGE_OPEN = 1 << 2,	/* kernels can read it; otherwise the next touch causes a fault */
	ADSM_PAGE_WRITABLE = 1 << 3,	/* sigsegv only: kernels can write it; it has a twin */
	ADSM_PAGE_WRITTEN = 1 << 4,	/* written in this launch, as far as that was detected */
	ADSM_PAGE_TWIN = 1 << 5,
	ADSM_PAGE_STALE = 1 << 6,	/* the alias has changed; a twin that stays is updated at the next begin */
	ADSM_PAGE_ASKED = 1 << 7,	/* on its way from the home, or another thread is making its twin */
};

/* For each group of this number of pages, one byte says whether a launch may have left flags set in it. */
#define ADSM_PAGE_GROUP ((uint64_t)512)

struct adsm_page_table {
	struct adsm_lock lock;		/* protects flags and counts while kernels run */
	uint8_t *flags;			/* with one more page before and after, which belong to no object */
	uint8_t *changed;		/* groups with pages that are WRITABLE, WRITTEN, TWIN or STALE */
	uint8_t *view, *alias, *twins;
	uint64_t n;
	bool home;
	unsigned max_read_ahead;
	struct adsm_runs objects;	/* adjacent objects are joined */
	struct adsm_run *read_only;	/* ascending */
	size_t n_read_only;
	struct adsm_pages_counts counts;
};
extern struct adsm_page_table adsm_table;

int adsm_table_start(const struct adsm_pages_config *config);
void adsm_table_stop(void);

static inline size_t adsm_table_offset(uint64_t page)
{
	return (size_t)page * ADSM_PAGE_SIZE;
}

static inline bool adsm_table_has(uint64_t page, unsigned flags)
{
	return (adsm_table.flags[page] & flags) == flags;
}

static inline void adsm_table_set(uint64_t page, unsigned flags)
{
	adsm_table.flags[page] |= (uint8_t)flags;
	if (flags & (ADSM_PAGE_WRITABLE | ADSM_PAGE_WRITTEN | ADSM_PAGE_TWIN | ADSM_PAGE_STALE))
		adsm_table.changed[page / ADSM_PAGE_GROUP] = 1;
}

static inline void adsm_table_clear(uint64_t page, unsigned flags)
{
	adsm_table.flags[page] &= (uint8_t)~flags;
}

/* The launch's read-only run that contains the page; NULL: none. Called in signal handlers. */
const struct adsm_run *adsm_table_read_only(uint64_t page);
/* Set another set of runs, in any order. The previous set is in @ret_old, which the caller frees. */
int adsm_table_set_read_only(const struct adsm_run *runs, size_t n, struct adsm_run **ret_old, size_t *ret_n_old);

/* Copy a page to its twin, whose memory exists. The page must not be written meanwhile. */
void adsm_table_take_twin(uint64_t page);

/* Extend @run to multiples of @size, within pages of objects that are writable or read-only like @run. */
struct adsm_run adsm_table_around(struct adsm_run run, uint64_t size);
/* The length of the run from @at on, before @end, whose flags in @mask equal @flags; 0 if the first page's differ. */
uint64_t adsm_table_length(uint64_t at, uint64_t end, unsigned mask, unsigned flags);

void adsm_table_add(struct adsm_run run);
void adsm_table_remove(struct adsm_run run);

/*
 * Iterate over the pages of objects in changed groups, in ascending runs of whole groups or the object's part of a
 * group.
 * @at and @i: variables of the caller, initially 0. Returns false at the end.
 */
bool adsm_table_next_changed(size_t *i, uint64_t *at, struct adsm_run *ret_run);
/* Clear these flags in all changed groups, which are unchanged afterwards. */
void adsm_table_settle(unsigned flags);
