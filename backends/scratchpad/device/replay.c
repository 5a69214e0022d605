/* SPDX-License-Identifier: MIT */
/* replay.c - see replay.h. */
#include "replay.h"

#include "base/log.h"
#include "base/os.h"

#include <stdlib.h>
#include <string.h>

struct core {
	struct adsm_cache_log log;	/* first, because on_full() finds the core by it */
	struct adsm_cache *others[ADSM_SCRATCHPAD_OTHERS];	/* NULL: there is no such cache */
};

static struct adsm_scratchpad_shared *served;
static struct adsm_scratchpad_geometry geometry;
static const struct adsm_cache_memory *memory;
static struct core *cores[ADSM_SCRATCHPAD_MAX_CORES];	/* each is used only by its core; NULL: not needed yet */

void adsm_replay_start(struct adsm_scratchpad_shared *shared, const struct adsm_scratchpad_geometry *its_geometry,
		       const struct adsm_cache_memory *its_memory)
{
	served = shared;
	geometry = *its_geometry;
	memory = its_memory;
	shared->geometry = geometry;
}

struct adsm_scratchpad_replayed *adsm_replay_of(const char *kernel, uint64_t stack)
{
	const uint32_t n = atomic_load(&served->n_replayed);
	struct adsm_scratchpad_replayed *replayed;
	struct adsm_scratchpad_layout layout;
	struct adsm_scratchpad_geometry other;
	char text[ADSM_PROCESS_TEXT];
	uint32_t i = 0;

	while (i < n && strcmp(served->replayed[i].kernel, kernel))
		i++;
	if (i < n || i == ADSM_SCRATCHPAD_REPLAYED)
		return i < n ? &served->replayed[i] : NULL;
	replayed = &served->replayed[i];
	adsm_format(replayed->kernel, sizeof(replayed->kernel), "%s", kernel);
	/* Smaller lines need more of the store, so the stack may be too small. */
	for (uint32_t k = 0; k < ADSM_SCRATCHPAD_OTHERS; k++)
		if (!adsm_scratchpad_other(&geometry, k, &other) ||
		    !adsm_scratchpad_lay_out(&other, &layout, text, sizeof(text)) || layout.stack < stack)
			replayed->missing |= 1u << k;
	atomic_store(&served->n_replayed, n + 1);
	return replayed;
}

static void on_full(struct adsm_cache_log *log)
{
	struct core *core = (struct core *)log;

	for (uint32_t i = 0; i < ADSM_SCRATCHPAD_OTHERS; i++)
		if (core->others[i])
			adsm_cache_replay(core->others[i], log);
	log->n = 0;
}

/* Returns NULL if there is no such cache, or no memory. */
static struct adsm_cache *create_other(uint32_t i)
{
	struct adsm_scratchpad_geometry other;
	struct adsm_scratchpad_layout layout;
	char text[ADSM_PROCESS_TEXT];
	struct adsm_cache *cache;

	if (!adsm_scratchpad_other(&geometry, i, &other) ||
	    !adsm_scratchpad_lay_out(&other, &layout, text, sizeof(text)))
		return NULL;
	cache = adsm_os_table(layout.control + layout.tags + layout.dirty + layout.lines + layout.ahead);
	if (!cache)
		return NULL;
	/* The core's own cache has detected all errors. */
	adsm_cache_init(cache, &other, &layout, memory, NULL);
	cache->dry = true;
	return cache;
}

void adsm_replay_begin(unsigned i, struct adsm_cache *cache)
{
	struct core *core = cores[i];

	if (!core) {
		core = cores[i] = calloc(1, sizeof(*core));
		for (uint32_t k = 0; core && k < ADSM_SCRATCHPAD_OTHERS; k++)
			core->others[k] = create_other(k);
	}
	if (!core)
		return;
	core->log.n = 0;
	core->log.elsewhere = false;
	core->log.full = on_full;
	for (uint32_t k = 0; k < ADSM_SCRATCHPAD_OTHERS; k++)
		if (core->others[k])
			core->others[k]->counts = (struct adsm_cache_counts){ 0 };
	adsm_cache_record(cache, &core->log);
}

static uint64_t moved(const struct adsm_cache *cache)
{
	return cache->counts.bytes_in + cache->counts.bytes_out;
}

void adsm_replay_end(unsigned i, struct adsm_cache *cache, struct adsm_scratchpad_replayed *replayed)
{
	struct core *core = cores[i];

	adsm_cache_record(cache, NULL);
	/* Without memory for the models nothing is known of this core. */
	if (!core || !core->others[ADSM_SCRATCHPAD_OTHERS - 1]) {
		atomic_store(&replayed->unsure, 1);
		return;
	}
	on_full(&core->log);
	for (uint32_t k = 0; k < ADSM_SCRATCHPAD_OTHERS; k++)
		if (core->others[k])
			atomic_fetch_add(&replayed->moved[k], moved(core->others[k]));
	atomic_fetch_add(&replayed->now, moved(cache));
	atomic_fetch_add(&replayed->cores, 1);
	/* The model of the own cache must have moved the same as the cache did. */
	if (core->log.elsewhere || moved(core->others[ADSM_SCRATCHPAD_OTHERS - 1]) != moved(cache))
		atomic_store(&replayed->unsure, 1);
}
