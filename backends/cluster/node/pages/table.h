/* SPDX-License-Identifier: MIT */
/* node/pages/table.h - what a node knows of each page: a byte of flags, its twin, the objects it belongs to. */
#ifndef ADSM_CLUSTER_TABLE_H
#define ADSM_CLUSTER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os.h"
#include "cluster/node/net/runs.h"
#include "types.h"

enum {
	ADSM_PAGE_ADDED = 1 << 0,	/* of an object */
	ADSM_PAGE_VALID = 1 << 1,	/* its bytes are here */
	ADSM_PAGE_OPEN = 1 << 2,	/* kernels read it without anybody's help; else its next touch is a fault */
	ADSM_PAGE_WRITABLE = 1 << 3,	/* sigsegv: the same of stores; it has a twin */
	ADSM_PAGE_WRITTEN = 1 << 4,	/* in this launch, as far as that has been seen */
	ADSM_PAGE_TWIN = 1 << 5,
	ADSM_PAGE_STALE = 1 << 6,	/* the alias has changed, and a twin that stays follows at the next begin */
	ADSM_PAGE_ASKED = 1 << 7,	/* on its way: from home, or into a twin that another thread makes */
};

/* Pages about whose flags one byte says whether a launch may have left something in them. */
#define ADSM_PAGE_GROUP ((uint64_t)512)

struct adsm_page_table {
	struct adsm_lock lock;		/* flags and counts, while kernels run */
	uint8_t *flags;			/* one page more before and after, of no object */
	uint8_t *changed;		/* groups with pages that are WRITABLE, WRITTEN, TWIN or STALE */
	uint8_t *view, *alias, *twins;
	uint64_t n;
	bool home;
	unsigned max_read_ahead;
	struct adsm_runs objects;	/* neighbours are one */
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

/* Which of the launch's read-only runs it is in; NULL: none. Handlers ask. */
const struct adsm_run *adsm_table_read_only(uint64_t page);
/* Take another set of these; the caller's order does not matter. The one before: @ret_old, to be freed. */
int adsm_table_set_read_only(const struct adsm_run *runs, size_t n, struct adsm_run **ret_old, size_t *ret_n_old);

/* Copy a page into its twin, for which there is memory. The page cannot be written meanwhile. */
void adsm_table_take_twin(uint64_t page);

/* As much as there is around @run, to multiples of @size, of objects that may be written, or not, as @run. */
struct adsm_run adsm_table_around(struct adsm_run run, uint64_t size);
/* The run of pages from @at on, before @end, that have just @flags of those in @mask; .n 0: @at is none. */
uint64_t adsm_table_length(uint64_t at, uint64_t end, unsigned mask, unsigned flags);

void adsm_table_add(struct adsm_run run);
void adsm_table_remove(struct adsm_run run);

/*
 * Goes through all pages of objects whose group has changed, in ascending runs of whole groups or what the object has
 * of them: @at and @i are the caller's, 0 at first. False: that was all.
 */
bool adsm_table_next_changed(size_t *i, uint64_t *at, struct adsm_run *ret_run);
/* Clear these flags, all there are of them in groups that have changed, which have not from then on. */
void adsm_table_settle(unsigned flags);

#endif
