/* SPDX-License-Identifier: MIT */
/*
 * conflict.h - which calls must have ended before a call begins: those of other lanes that use an object which the call
 * may write, or that may write an object which the call uses. A call that waits for them does not keep other calls
 * from beginning, unless these conflict with it: then they come after it.
 */
#pragma once

#include "run/call/bind.h"

/* A call that has not begun, or a move of an object. It is in the thread that makes the call. */
struct adsm_conflict {
	struct adsm_conflict *next;	/* a call that came later */
	const struct adsm_bound *bound;
	unsigned lane;
	bool waits;			/* it is in the list of those that wait */
	uint64_t seq;			/* wait for this call; 0: for a call that waits, too */
	uint32_t tick;			/* the home's, at the last look */
};

static inline void adsm_conflict_init(struct adsm_conflict *conflict, const struct adsm_bound *bound, unsigned lane)
{
	*conflict = (struct adsm_conflict){ .bound = bound, .lane = lane };
}

/* An unnamed call may use any object, and a task needs the processors for its workers. */
bool adsm_runs_alone(const struct adsm_bound *bound);
/*
 * Must the call wait? Its objects are bound. If it must, it stays in the list of the calls that wait until
 * adsm_conflict_end(). Lock held.
 */
bool adsm_conflict_find(struct adsm_conflict *conflict);
/* From now on no call begins that conflicts with it, until adsm_conflict_end(). Lock held. */
void adsm_conflict_enter(struct adsm_conflict *conflict);
/* Wait for what was found. Then look again: something may have changed. No lock is held. */
int adsm_conflict_wait(const struct adsm_conflict *conflict);
/* The call has begun, or has failed; the object has moved, or stays. */
void adsm_conflict_end(struct adsm_conflict *conflict);
