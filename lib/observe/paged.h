/* SPDX-License-Identifier: MIT */
/*
 * paged.h - views that are opened page by page, to detect each page that the CPU uses. States, transfers and their
 * counters stay the same, with one exception: syncs do not fetch blocks that the protocol expects to be read; faults
 * do.
 */
#pragma once

#include "core/object.h"
#include "core/observe.h"

struct adsm_paged {
	size_t n;
	uint8_t *views;			/* the real enum adsm_prot of each page */
	size_t n_mappings;		/* about the number of mappings that the views cost */
	bool whole;			/* there were too many mappings: blocks are opened as a whole */
	_Atomic bool unseen;		/* pages were opened for other reasons, and may have been used */
};

/* The access that this thread's fault handler serves. */
struct adsm_touch {
	bool in_fault;
	size_t page;
	bool write;
};

/* Returns NULL if there is no memory. */
struct adsm_paged *adsm_paged_make(const struct adsm_object *object);
/* The object was freed. */
void adsm_paged_forget(struct adsm_paged *pages);
void adsm_paged_end(struct adsm_paged *pages);

/* ---- with the lock of the object's home, also in the fault handler; object->record->pages is not NULL */

/* Change what the view of several blocks permits, like change_view() in block.c; opening concerns only the page of a
 * fault. */
int adsm_paged_view(struct adsm_object *object, size_t offset, size_t size, enum adsm_prot view);
/* Note where a fault is; call this first. Returns true if its block is open, and its page now is, too: the fault is
 * served. */
bool adsm_paged_touch(struct adsm_object *object, uintptr_t address, bool write);
const struct adsm_touch *adsm_paged_touched(void);
/* The fault is handled. */
void adsm_paged_served(void);
/* @begins: block @b is held and open; open all of its pages. Returns 0, or a negative errno if they are not open.
 * Otherwise: it is no longer held; detect its uses again. */
int adsm_paged_hold(struct adsm_object *object, uint32_t b, bool begins);
/* Detect uses of these bytes again, if pages are still opened one by one. */
int adsm_paged_watch(struct adsm_object *object, size_t offset, size_t size);
