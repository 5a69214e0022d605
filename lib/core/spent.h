/* SPDX-License-Identifier: MIT */
/* spent.h - how long threads have been moving data: in transfers, faults and waits for transfers of others'. */
#ifndef ADSM_SPENT_H
#define ADSM_SPENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct adsm_spent {
	uint64_t since;			/* adsm_start_ns: an older one counts no more */
	uint64_t ns;
	uint64_t moved_ns;		/* in transfers alone, from the thread's start */
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

#endif
