/* SPDX-License-Identifier: MIT */
/* shared.h - is an address in shared memory? Inline checks for each wrapped call of the C library: mostly two loads say
 * no. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * All shared memory lies in this range. Its size is 0 while the library is not started, and in the child of a fork.
 * Mostly it is the arena. If a driver dictates addresses of objects, the range grows, first its size, then its start,
 * and may contain much other memory.
 */
struct adsm_shared_range {
	_Atomic uintptr_t start;
	_Atomic size_t size;
};

extern struct adsm_shared_range adsm_shared_range;

/* An object lies outside of the range: the range grows. */
void adsm_shared_widen(uintptr_t start, size_t size);

/* For bytes in that range; false if none of them can be shared. */
bool adsm_range_is_near(uintptr_t start, size_t size);

/* Two loads: is any of the @size bytes at @p or @q in that range? */
static inline bool adsm_are_within(const void *p, const void *q, size_t size)
{
	uintptr_t start = atomic_load_explicit(&adsm_shared_range.start, memory_order_acquire);
	size_t span = atomic_load_explicit(&adsm_shared_range.size, memory_order_relaxed) + size;
	uintptr_t end = size - start;

	return __builtin_expect((uintptr_t)p + end < span, 0) || __builtin_expect((uintptr_t)q + end < span, 0);
}

/* Quick, not exact; false if no byte of the range can be shared. */
static inline bool adsm_may_be_shared(const void *p, size_t size)
{
	return adsm_are_within(p, p, size) && adsm_range_is_near((uintptr_t)p, size);
}

/* Exact: is @p in a live shared object, or in the view of a write-once object? */
bool adsm_is_shared(const void *p);
