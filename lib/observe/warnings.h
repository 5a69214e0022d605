/* SPDX-License-Identifier: MIT */
/*
 * warnings.h - what a program should know without having asked: gross cases only, a line each, few lines. Always on,
 * and made of what is counted anyhow.
 */
#ifndef ADSM_WARNINGS_H
#define ADSM_WARNINGS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct adsm_object;

/* ---- what happens to an object, since it was made. With the lock of its home. */

struct adsm_habits {
	uint64_t early, again;		/* blocks sent early; of these, written again before a call took them */
	uint64_t fetches, fetched_bytes, fetch_ns;
	bool told_again, told_fetches;	/* each once */
};

#define ADSM_AGAIN_MIN 256
#define ADSM_FETCHES_MIN 64

/* Is it gross? Then say so. Not for callers: see the two below. */
void adsm_judge_again(struct adsm_object *object, struct adsm_habits *habits);
void adsm_judge_fetches(struct adsm_object *object, struct adsm_habits *habits);

static inline void adsm_habit_again(struct adsm_object *object, struct adsm_habits *habits, uint32_t n)
{
	habits->again += n;
	if (__builtin_expect(habits->again >= ADSM_AGAIN_MIN && !habits->told_again, 0))
		adsm_judge_again(object, habits);
}

static inline void adsm_habit_fetch(struct adsm_object *object, struct adsm_habits *habits, uint64_t size, uint64_t ns)
{
	uint64_t n = ++habits->fetches;

	habits->fetched_bytes += size;
	habits->fetch_ns += ns;
	/* Now and then is enough. */
	if (__builtin_expect(n >= ADSM_FETCHES_MIN && !(n & (n - 1)), 0))
		adsm_judge_fetches(object, habits);
}

/* ---- how long threads have been moving data: in transfers, faults and waits for transfers of others' */

struct adsm_spent {
	uint64_t since;			/* adsm_start_ns: an older one counts no more */
	uint64_t ns;
	bool in_background;		/* a thread of the library's, for which nobody waits as such */
};

extern _Thread_local struct adsm_spent adsm_spent;
extern _Atomic uint64_t adsm_most_spent_ns;	/* by one of the program's threads */
/* adsm_os_now_ns() at the library's start. */
extern uint64_t adsm_start_ns;

static inline uint64_t adsm_spent_ns(void)
{
	return adsm_spent.since == adsm_start_ns ? adsm_spent.ns : 0;
}

/* This thread has spent so much in all. */
static inline void adsm_set_spent(uint64_t ns)
{
	adsm_spent.since = adsm_start_ns;
	adsm_spent.ns = ns;
	/* Two threads at once: the lesser one may stay until the next time. */
	if (!adsm_spent.in_background && ns > atomic_load_explicit(&adsm_most_spent_ns, memory_order_relaxed))
		atomic_store_explicit(&adsm_most_spent_ns, ns, memory_order_relaxed);
}

static inline void adsm_spend(uint64_t ns)
{
	adsm_set_spent(adsm_spent_ns() + ns);
}

/* The library ends: was it mostly moving data? Once in a process. */
void adsm_warn_at_end(void);

#endif
