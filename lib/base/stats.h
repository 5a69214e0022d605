/* SPDX-License-Identifier: MIT */
/* stats.h - the counters: always on, relaxed atomics, for each object and in total. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "adsm.h"

struct adsm_counters {
#define ADSM_COUNTER(name, help) _Atomic uint64_t name;
	ADSM_STATS(ADSM_COUNTER)
#undef ADSM_COUNTER
};

extern struct adsm_counters adsm_total;

/* Count for an object (NULL: none) and in total. */
#define adsm_count(object_counters, field, n) do {						\
	struct adsm_counters *counters_ = (object_counters);					\
	uint64_t n_ = (n);									\
	atomic_fetch_add_explicit(&adsm_total.field, n_, memory_order_relaxed);			\
	if (counters_)										\
		atomic_fetch_add_explicit(&counters_->field, n_, memory_order_relaxed);		\
} while (0)

void adsm_counters_read(const struct adsm_counters *counters, adsmStats *ret_stats);
void adsm_counters_reset(struct adsm_counters *counters);
