/* SPDX-License-Identifier: MIT */
/* test_ended.c - which calls have ended: all orders of few calls, and random orders of many, against a list. */
#include "core/ended.h"

#include <string.h>

#include "../check.h"

#define FEW 6
#define MANY 5000u

static struct adsm_ended ended;
static bool over[MANY + ADSM_ENDED_AHEAD + 1];

static void check(uint64_t last)
{
	uint64_t next = 1;

	while (over[next])
		next++;
	CHECK_EQ(adsm_ended_next(&ended), next);
	CHECK(adsm_ended_has(&ended, 0));
	for (uint64_t seq = last > 2 * ADSM_ENDED_AHEAD ? last - 2 * ADSM_ENDED_AHEAD : 1; seq <= last; seq++)
		CHECK_EQ(adsm_ended_has(&ended, seq), over[seq]);
}

static void begin(void)
{
	memset(&ended, 0, sizeof(ended));
	memset(over, 0, sizeof(over));
}

static void end(uint64_t seq)
{
	adsm_ended_add(&ended, seq);
	over[seq] = true;
}

/* All orders in which calls can end. */
static void end_in_orders(unsigned left, const uint64_t *seqs)
{
	struct adsm_ended before;
	uint64_t others[FEW];

	check(FEW);
	for (unsigned i = 0; i < left; i++) {
		memcpy(&before, &ended, sizeof(before));
		memcpy(others, seqs, i * sizeof(*seqs));
		memcpy(others + i, seqs + i + 1, (left - i - 1) * sizeof(*seqs));
		end(seqs[i]);
		end_in_orders(left - 1, others);
		over[seqs[i]] = false;
		memcpy(&ended, &before, sizeof(before));
	}
}

/* At most ADSM_ENDED_AHEAD calls have begun and are not known to have ended with all before them. */
static void end_at_random(void)
{
	uint64_t last = 0;
	unsigned random = 1;

	begin();
	while (adsm_ended_next(&ended) <= MANY) {
		uint64_t seq;

		while (last < adsm_ended_next(&ended) + ADSM_ENDED_AHEAD - 1)
			last++;
		random = random * 1664525 + 1013904223;
		seq = adsm_ended_next(&ended) + (random >> 16) % (random >> 8 & 1 ? ADSM_ENDED_AHEAD : 3);
		if (!over[seq])
			end(seq);
		check(last);
	}
}

int main(void)
{
	const uint64_t seqs[FEW] = { 1, 2, 3, 4, 5, 6 };

	begin();
	end_in_orders(FEW, seqs);
	end_at_random();
	return 0;
}
