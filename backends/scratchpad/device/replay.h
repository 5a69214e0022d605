/* SPDX-License-Identifier: MIT */
/*
 * replay.h - simulates what other caches of the same size would have moved, for advice. Requests to a core's cache are
 * recorded during a launch, and replayed to other caches, which run the same code and only count. Such launches take
 * many times longer.
 */
#pragma once

#include "store/cache.h"
#include "scratchpad/shared.h"

/* Call this first. */
void adsm_replay_start(struct adsm_scratchpad_shared *shared, const struct adsm_scratchpad_geometry *geometry,
		       const struct adsm_cache_memory *memory);
/* The record of a kernel, for all its launches; NULL: no room. @stack: bytes of stack that the kernel needs. */
struct adsm_scratchpad_replayed *adsm_replay_of(const char *kernel, uint64_t stack);
/* A core's part of a launch begins; it has ended. The cache is empty both times. */
void adsm_replay_begin(unsigned core, struct adsm_cache *cache);
void adsm_replay_end(unsigned core, struct adsm_cache *cache, struct adsm_scratchpad_replayed *replayed);
