/* SPDX-License-Identifier: MIT */
/*
 * replay.h - what other caches of the same size would have moved: what a core's cache is asked in a launch is noted,
 * and asked of others again, which are the same code and only count. For advice; launches take many times longer.
 */
#ifndef ADSM_SCRATCHPAD_REPLAY_H
#define ADSM_SCRATCHPAD_REPLAY_H

#include "store/cache.h"
#include "scratchpad/shared.h"

/* Before all else. */
void adsm_replay_start(struct adsm_scratchpad_shared *shared, const struct adsm_scratchpad_geometry *geometry,
		       const struct adsm_cache_memory *memory);
/* Where what a kernel moves is written, of all its launches; NULL: there is no room. @stack: bytes that it needs. */
struct adsm_scratchpad_replayed *adsm_replay_of(const char *kernel, uint64_t stack);
/* A core's part of a launch begins, and has ended, with an empty cache. */
void adsm_replay_begin(unsigned core, struct adsm_cache *cache);
void adsm_replay_end(unsigned core, struct adsm_cache *cache, struct adsm_scratchpad_replayed *replayed);

#endif
