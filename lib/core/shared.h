/* SPDX-License-Identifier: MIT */
/* shared.h - is this shared memory? A check for every call of libc's, inlined: nearly always two loads say no. */
#ifndef ADSM_SHARED_H
#define ADSM_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * All shared memory lies in this range; of size 0 while the library is not started, and in the child of a fork. The
 * arena mostly; where a driver says where objects lie it grows, first size, then start, and much else may be inside.
 */
struct adsm_shared_range {
	_Atomic uintptr_t start;
	_Atomic size_t size;
};

extern struct adsm_shared_range adsm_shared_range;

/* There is an object outside the arena: the range grows. */
void adsm_shared_widen(uintptr_t start, size_t size);

/* For what is in that range: false where no byte can be shared. */
bool adsm_range_is_near(uintptr_t start, size_t size);

/* Two loads: does any byte at @p or @q lie in that range? */
static inline bool adsm_are_within(const void *p, const void *q, size_t size)
{
	uintptr_t start = atomic_load_explicit(&adsm_shared_range.start, memory_order_acquire);
	size_t span = atomic_load_explicit(&adsm_shared_range.size, memory_order_relaxed) + size;
	uintptr_t end = size - start;

	return __builtin_expect((uintptr_t)p + end < span, 0) || __builtin_expect((uintptr_t)q + end < span, 0);
}

/* Quick: false where no byte of a range can be shared. */
static inline bool adsm_may_be_shared(const void *p, size_t size)
{
	return adsm_are_within(p, p, size) && adsm_range_is_near((uintptr_t)p, size);
}

/* Exact: is this in a live shared object, or in the view of a write-once object? */
bool adsm_is_shared(const void *p);

#endif
