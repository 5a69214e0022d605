/* SPDX-License-Identifier: MIT */
/*
 * ended.h - which calls of a device are known to have ended. lib/run notes them; all others ask adsm_call_ended().
 *
 * Calls of one lane end in their order, and those of different lanes in any order. So there is a number up to which all
 * calls have ended, and a bit for each later call.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ADSM_ENDED_AHEAD 128		/* a call begins only if the call of this number before it has ended */

struct adsm_ended {
	_Atomic uint64_t up_to;		/* all calls up to this number; changed with the home's lock */
	/* later calls: call @seq has bit @seq % ADSM_ENDED_AHEAD */
	_Atomic uint64_t later[ADSM_ENDED_AHEAD / 64];
};

static inline bool adsm_ended_bit(struct adsm_ended *ended, uint64_t seq)
{
	return atomic_load(&ended->later[seq / 64 % (ADSM_ENDED_AHEAD / 64)]) >> seq % 64 & 1;
}

/* Without the lock the result may be false for a call whose end is being noted. */
static inline bool adsm_ended_has(struct adsm_ended *ended, uint64_t seq)
{
	return atomic_load(&ended->up_to) >= seq || adsm_ended_bit(ended, seq);
}

/* The first call that is not known to have ended. */
static inline uint64_t adsm_ended_next(struct adsm_ended *ended)
{
	return atomic_load(&ended->up_to) + 1;
}

/* Call @seq has ended. Lock held. */
static inline void adsm_ended_add(struct adsm_ended *ended, uint64_t seq)
{
	_Atomic uint64_t *later;

	if (seq != adsm_ended_next(ended)) {
		atomic_fetch_or(&ended->later[seq / 64 % (ADSM_ENDED_AHEAD / 64)], UINT64_C(1) << seq % 64);
		return;
	}
	atomic_store(&ended->up_to, seq);
	while (adsm_ended_bit(ended, ++seq)) {
		later = &ended->later[seq / 64 % (ADSM_ENDED_AHEAD / 64)];
		atomic_store(&ended->up_to, seq);
		atomic_fetch_and(later, ~(UINT64_C(1) << seq % 64));
	}
}
