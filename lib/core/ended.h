/* SPDX-License-Identifier: MIT */
/* ended.h - which calls of a device are known to have ended. lib/run notes them; all others ask adsm_call_ended(). */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct adsm_ended {
	_Atomic uint64_t up_to;		/* all calls up to this number; changed with the home's lock */
};

static inline bool adsm_ended_has(struct adsm_ended *ended, uint64_t seq)
{
	return atomic_load(&ended->up_to) >= seq;
}

/* The first call that is not known to have ended. */
static inline uint64_t adsm_ended_next(struct adsm_ended *ended)
{
	return atomic_load(&ended->up_to) + 1;
}

/* Call adsm_ended_next() has ended. Lock held. */
static inline void adsm_ended_add(struct adsm_ended *ended, uint64_t seq)
{
	atomic_store(&ended->up_to, seq);
}
