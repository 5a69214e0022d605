/* SPDX-License-Identifier: MIT */
/* advice.h - what would make the program faster, and by how much (ADSM_ADVISE). */
#pragma once

#include <stdbool.h>

#include "adsm.h"

struct adsm_record;

enum adsm_advice_kind {
	ADSM_ADVICE_IN, ADSM_ADVICE_BLOCKS, ADSM_ADVICE_PROTOCOL, ADSM_ADVICE_ROLLING_SIZE, ADSM_N_ADVICE_KINDS
};

struct adsm_advice_item {
	enum adsm_advice_kind kind;
	char text[200];			/* one sentence */
	char setting[80];		/* the setting to change: "ADSM_BLOCK_SIZE=4K", "adsmIn(p)"; or "" */
	bool exact;			/* the numbers are exact; otherwise they are estimates */
	/* The object's counters as they were, and as they would be: only
	 * bytes, transfers, faults, evictions, and estimated signals. */
	adsmStats now, then;
};

/* A cost to compare the advice for different objects: bytes, and the cost of faults and transfers in bytes. */
uint64_t adsm_advice_cost(const adsmStats *stats);

static inline uint64_t adsm_traffic(const adsmStats *stats)
{
	return stats->h2d_bytes + stats->d2h_bytes;
}

/* Get the advice for an object, the best first, at most @n. Returns the number. Call this between adsm_records_lock()
 * and adsm_records_unlock(). */
unsigned adsm_advice_list(const struct adsm_record *record, struct adsm_advice_item *ret_items, unsigned n);
