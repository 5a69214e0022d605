/* SPDX-License-Identifier: MIT */
/* stats.c - reading and resetting the counters. */
#include "base/stats.h"

struct adsm_counters adsm_total;

void adsm_counters_read(const struct adsm_counters *counters, adsmStats *ret_stats)
{
#define READ(name, help) ret_stats->name = atomic_load_explicit(&counters->name, memory_order_relaxed);
	ADSM_STATS(READ)
#undef READ
}

void adsm_counters_reset(struct adsm_counters *counters)
{
#define RESET(name, help) atomic_store_explicit(&counters->name, 0, memory_order_relaxed);
	ADSM_STATS(RESET)
#undef RESET
}
