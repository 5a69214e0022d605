/* SPDX-License-Identifier: MIT */
/*
 * advice.h - what would make the program faster, and by how much (ADSM_ADVISE). To know what the CPU really touches,
 * views are opened page by page; states, transfers and their counters stay as they would be without, but that no sync
 * fetches what is expected to be read: faults do.
 */
#ifndef ADSM_ADVISE_H
#define ADSM_ADVISE_H

#include <stdbool.h>
#include <stdio.h>

#include "observe/observe.h"

struct adsm_advice;

/* What an object needs for that; NULL: none, its views open as always (batch, device-only, out of memory). */
struct adsm_advice *adsm_advice_make(const struct adsm_object *object);
void adsm_advice_end(struct adsm_advice *advice);
/* The object has been freed: what is known of it stays. */
void adsm_advice_freed(struct adsm_advice *advice);
/* The counters begin again at 0. */
void adsm_advice_reset(struct adsm_advice *advice);

/* ---- under the lock of the object's home, in the fault handler too; object->record->advice is not NULL */

/* Change what the view of a run permits, as change_view() in block.c; opens only the page of a fault. */
int adsm_paged_view(struct adsm_object *object, size_t offset, size_t size, enum adsm_prot view);
/* Where a fault is, before anything else. True: its block is open, now its page is too; that was all. */
bool adsm_paged_touch(struct adsm_object *object, uintptr_t address, bool write);
/* Block @b is held, and open; now all of its pages are, too. A negative errno: they are not. */
int adsm_paged_hold(struct adsm_object *object, uint32_t b);
/* It is held no longer: what is used from here on is seen again. */
void adsm_paged_unhold(struct adsm_object *object, uint32_t b);
/* The fault has been served, or not. */
void adsm_paged_touched(void);
/*
 * Each access to blocks that changes their state, or may: just before it does. In a fault only the page of that is
 * used; else all of the run may be, unless adsm_use_range() has said what.
 */
void adsm_use_access(struct adsm_object *object, uint32_t first, uint32_t n, enum adsm_block_event event);
/* Before input (it has come) or output (it will be read) of these bytes: io.c. */
void adsm_use_range(struct adsm_object *object, size_t at, size_t end, bool input);
/* This thread begins one between an object and ordinary memory; ends it. */
void adsm_use_bulk(struct adsm_object *object, const struct adsm_bulk *bulk);
void adsm_use_bulk_end(struct adsm_object *object);
/* The device has written these blocks, for a copy or a fill. */
void adsm_use_device_wrote(struct adsm_object *object, uint32_t first, uint32_t n);
/* Something happens to it that would be done another way with other blocks: what is promised is only about right. */
void adsm_use_inexact(struct adsm_object *object);
/* A call does this to the object. */
void adsm_use_called(struct adsm_object *object, enum adsm_block_event event);

/* Around a fetch, without the lock: has it brought other bytes than the CPU had? */
void *adsm_use_before_fetch(struct adsm_object *object, size_t offset, size_t size);
void adsm_use_after_fetch(struct adsm_object *object, void *before, size_t offset, size_t size, bool arrived);

/* Sent early; in vain where they are written again before the next call. Lock held. */
void adsm_use_evicted(struct adsm_object *object, uint32_t first, uint32_t n);

/* ---- between adsm_records_lock() and unlock: the advice for an object, each with what it promises */

enum adsm_advice_kind {
	ADSM_ADVICE_IN, ADSM_ADVICE_BLOCKS, ADSM_ADVICE_PROTOCOL, ADSM_ADVICE_ROLLING_SIZE, ADSM_N_ADVICE_KINDS
};

struct adsm_advice_item {
	enum adsm_advice_kind kind;
	char text[200];			/* a sentence */
	char setting[80];		/* what to say: "ADSM_BLOCK_SIZE=4K", "adsmPtrIn(p)"; "" */
	bool exact;			/* else about */
	/* Of the object: as it was, as it would be; only bytes, transfers, faults, evictions; about: signals. */
	adsmStats now, then;
};

/* What its counters would be under another protocol, with blocks of so many bytes, and nothing sent early. */
bool adsm_advice_what_if(const struct adsm_record *record, const char *protocol, size_t block_size,
			 adsmStats *ret_stats);

/* How many there are, the best first, at most @n. */
unsigned adsm_advice_list(const struct adsm_record *record, struct adsm_advice_item *ret_items, unsigned n);

#endif
