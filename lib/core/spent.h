/* SPDX-License-Identifier: MIT */
/* spent.h - how long threads have been moving data: in transfers, in faults, and in waits for other threads'
 * transfers. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct adsm_spent {
	uint64_t since;			/* adsm_start_ns when this was counted; if that has changed, ns counts as 0 */
	uint64_t ns;
	uint64_t moved_ns;		/* in transfers only, since the thread's start */
	bool in_background;		/* a thread of the library, whose time does not count for the program */
};

extern _Thread_local struct adsm_spent adsm_spent;
extern _Atomic uint64_t adsm_most_spent_ns;	/* the largest ns of all threads of the program */
/* Time of the library's start (adsm_os_now_ns()). */
extern uint64_t adsm_start_ns;

static inline uint64_t adsm_spent_ns(void)
{
	return adsm_spent.since == adsm_start_ns ? adsm_spent.ns : 0;
}

/* Set the total of this thread. */
static inline void adsm_set_spent(uint64_t ns)
{
	adsm_spent.since = adsm_start_ns;
	adsm_spent.ns = ns;
	/* If two threads store at the same time, the lesser value may stay until the next store. */
	if (!adsm_spent.in_background && ns > atomic_load_explicit(&adsm_most_spent_ns, memory_order_relaxed))
		atomic_store_explicit(&adsm_most_spent_ns, ns, memory_order_relaxed);
}

static inline void adsm_spend(uint64_t ns)
{
	adsm_set_spent(adsm_spent_ns() + ns);
}
