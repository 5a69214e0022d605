/* SPDX-License-Identifier: MIT */
/* conflict.c - see conflict.h. */
#include "run/call/conflict.h"

#include "run/wait/pending.h"
#include "run/wait/wait.h"

bool adsm_runs_alone(const struct adsm_bound *bound)
{
	return !bound->named || (adsm_bound_is_own(bound) && bound->kernel->info->task);
}

/* Is a call running, in another lane than @lane? */
static bool runs_beside(struct adsm_home *home, unsigned lane, uint64_t seq)
{
	return !adsm_call_ended(home, seq) && adsm_pending_call(home, seq)->lane != lane;
}

/* A call that must end before this one begins, and that runs in another lane; 0: there is none. */
static uint64_t find_running(const struct adsm_bound *bound, unsigned lane)
{
	struct adsm_home *home = bound->home;
	const struct adsm_pending *pending = adsm_pending_of(home);

	/* In the same lane the device keeps the order. */
	if (!(pending->lanes & ~(1u << lane)))
		return 0;
	if (runs_beside(home, lane, pending->alone_seq))
		return pending->alone_seq;
	for (unsigned i = 0; i < home->n_lanes && adsm_runs_alone(bound); i++)
		if (runs_beside(home, lane, pending->lane_seq[i]))
			return pending->lane_seq[i];
	for (size_t u = 0; u < bound->n_uses; u++) {
		const struct adsm_object *object = bound->uses[u].object;

		if (adsm_use_is_gone(&bound->uses[u]))
			continue;
		if (runs_beside(home, lane, object->write_seq))
			return object->write_seq;
		if (adsm_bound_access(bound, u) == ADSM_ACCESS_IN)
			continue;
		for (unsigned i = 0; i < home->n_lanes; i++)
			if (runs_beside(home, lane, object->use_seq[i]))
				return object->use_seq[i];
	}
	return 0;
}

/* Do two calls use the same object, and may one of them write it? */
static bool share(const struct adsm_bound *a, const struct adsm_bound *b)
{
	for (size_t i = 0; i < a->n_uses; i++)
		for (size_t k = 0; k < b->n_uses; k++)
			if (a->uses[i].object == b->uses[k].object && !adsm_use_is_gone(&a->uses[i]) &&
			    !adsm_use_is_gone(&b->uses[k]) &&
			    (adsm_bound_access(a, i) != ADSM_ACCESS_IN || adsm_bound_access(b, k) != ADSM_ACCESS_IN))
				return true;
	return false;
}

/* Does a call that waits, and came before this one, conflict with it? Otherwise it might wait forever. */
static bool is_behind(const struct adsm_conflict *conflict)
{
	const struct adsm_conflict *other = adsm_pending_of(conflict->bound->home)->waiting;

	for (; other && other != conflict; other = other->next)
		if (adsm_runs_alone(conflict->bound) || adsm_runs_alone(other->bound) ||
		    share(conflict->bound, other->bound))
			return true;
	return false;
}

void adsm_conflict_enter(struct adsm_conflict *conflict)
{
	struct adsm_conflict **last = &adsm_pending_of(conflict->bound->home)->waiting;

	while (!conflict->waits && *last)
		last = &(*last)->next;
	if (!conflict->waits)
		*last = conflict;
	conflict->waits = true;
}

bool adsm_conflict_find(struct adsm_conflict *conflict)
{
	struct adsm_home *home = conflict->bound->home;

	conflict->seq = find_running(conflict->bound, conflict->lane);
	conflict->tick = atomic_load(&home->tick);
	if (!conflict->seq && !is_behind(conflict))
		return false;
	adsm_conflict_enter(conflict);
	return true;
}

int adsm_conflict_wait(const struct adsm_conflict *conflict)
{
	struct adsm_home *home = conflict->bound->home;

	if (conflict->seq)
		return adsm_wait_call(home, conflict->seq);
	adsm_wait_tick(home, conflict->tick);
	return 0;
}

void adsm_conflict_end(struct adsm_conflict *conflict)
{
	struct adsm_home *home = conflict->bound->home;
	struct adsm_conflict **at = &adsm_pending_of(home)->waiting;
	struct adsm_sigset old;

	if (!conflict->waits)
		return;
	adsm_home_lock(home, &old);
	while (*at != conflict)
		at = &(*at)->next;
	*at = conflict->next;
	adsm_home_notify(home);
	adsm_home_unlock(home, &old);
}
