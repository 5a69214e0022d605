/* SPDX-License-Identifier: MIT */
/* advice.h - what would make the program faster, and by how much (ADSM_ADVISE). */
#ifndef ADSM_ADVICE_H
#define ADSM_ADVICE_H

#include <stdbool.h>

#include "adsm.h"

struct adsm_record;

enum adsm_advice_kind {
	ADSM_ADVICE_IN, ADSM_ADVICE_BLOCKS, ADSM_ADVICE_PROTOCOL, ADSM_ADVICE_ROLLING_SIZE, ADSM_N_ADVICE_KINDS
};

struct adsm_advice_item {
	enum adsm_advice_kind kind;
	char text[200];			/* a sentence */
	char setting[80];		/* what to say: "ADSM_BLOCK_SIZE=4K", "adsmIn(p)"; "" */
	bool exact;			/* else about */
	/* Of the object: as it was, as it would be; only bytes, transfers, faults, evictions; about: signals. */
	adsmStats now, then;
};

/* To compare what is promised of different objects: bytes, and what faults and transfers cost beside them. */
uint64_t adsm_advice_cost(const adsmStats *stats);

static inline uint64_t adsm_traffic(const adsmStats *stats)
{
	return stats->h2d_bytes + stats->d2h_bytes;
}

/* The advice for an object, the best first, at most @n: how many there are. Between adsm_records_lock() and unlock. */
unsigned adsm_advice_list(const struct adsm_record *record, struct adsm_advice_item *ret_items, unsigned n);

#endif
