/* SPDX-License-Identifier: MIT */
/*
 * paged.h - views that are opened page by page, so that every page that the CPU uses is seen. States, transfers and
 * their counters stay as they would be without, but that no sync fetches what is expected to be read: faults do.
 */
#ifndef ADSM_PAGED_H
#define ADSM_PAGED_H

#include "core/object.h"
#include "core/observe.h"

struct adsm_paged {
	size_t n;
	uint8_t *views;			/* enum adsm_prot of each page, as it really is */
	size_t n_mappings;		/* that the views cost, about */
	bool whole;			/* there were too many: blocks are opened whole */
	_Atomic bool unseen;		/* something was open for other reasons, and may have been used */
};

/* The access that the fault handler of this thread serves. */
struct adsm_touch {
	bool in_fault;
	size_t page;
	bool write;
};

/* NULL: no memory. */
struct adsm_paged *adsm_paged_make(const struct adsm_object *object);
/* The object has been freed. */
void adsm_paged_forget(struct adsm_paged *pages);
void adsm_paged_end(struct adsm_paged *pages);

/* ---- under the lock of the object's home, in the fault handler too; object->record->pages is not NULL */

/* Change what the view of a run permits, as change_view() in block.c; opens only the page of a fault. */
int adsm_paged_view(struct adsm_object *object, size_t offset, size_t size, enum adsm_prot view);
/* Where a fault is, before anything else. True: its block is open, now its page is too; that was all. */
bool adsm_paged_touch(struct adsm_object *object, uintptr_t address, bool write);
const struct adsm_touch *adsm_paged_touched(void);
/* The fault has been served, or not. */
void adsm_paged_served(void);
/* Block @b is held, and open; now all of its pages are, too. A negative errno: they are not. */
int adsm_paged_hold(struct adsm_object *object, uint32_t b);
/* It is held no longer: what is used from here on is seen again. */
void adsm_paged_unhold(struct adsm_object *object, uint32_t b);
/* What of these bytes is used from here on is seen again, where single pages still are. */
int adsm_paged_watch(struct adsm_object *object, size_t offset, size_t size);

#endif
