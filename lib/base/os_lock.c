/* SPDX-License-Identifier: MIT */
/* os_lock.c - os.h's lock when another thread has it. In a file of its own for the tests, which explore it step by
 * step. */
#include "base/os.h"

#define LOCK_SPIN_NS 50000

void adsm_lock_slow(struct adsm_lock *lock)
{
	/* Spin first: the lock is held for an mprotect() at most, which is shorter than a sleep and a wake. */
	for (uint64_t until = adsm_os_now_ns() + LOCK_SPIN_NS; adsm_os_now_ns() < until;) {
		uint32_t free = 0;

		if (!atomic_load_explicit(&lock->word, memory_order_relaxed) &&
		    atomic_compare_exchange_strong_explicit(&lock->word, &free, 1, memory_order_acquire,
							    memory_order_relaxed))
			return;
	}
	while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire))
		adsm_os_wait(&lock->word, 2, 0, false);
}
