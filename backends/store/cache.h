/* SPDX-License-Identifier: MIT */
/*
 * cache.h - the software cache of a core. Kernels call it if the inlined part of it (adsm_scratchpad.h) has not found a
 * line. It is write-back and write-allocate, and replaces the least recently used line. Only the bytes of a line that
 * were written are written back, so cores may write neighbouring bytes.
 *
 * Transfers are copies between the device's memory and the local store. Memory is accessed in words of 8 bytes, or in
 * single bytes if not all bytes are dirty. Each access is atomic, because other cores may write the other bytes.
 */
#pragma once

#include <stdatomic.h>

#include "adsm_scratchpad.h"
#include "store/layout.h"
#include "spans.h"

#define ADSM_CACHE_READABLE 2

/* Where device memory is in this process, and what else a launch may read through the cache. All cores share one. */
struct adsm_cache_memory {
	uint64_t base, size;		/* device addresses */
	uint8_t *bytes;
	const _Atomic uint64_t *live;	/* a bit for each page: is it allocated? NULL: all are */
	struct { uint64_t begin, end; } lent;	/* memory that kernels have allocated; at the same addresses here */
	struct { uint64_t begin, end; } variables;	/* of the module; at the same addresses here */
	/* Arguments, tables; at the same addresses here. */
	struct { uint64_t begin, end; } readable[ADSM_CACHE_READABLE];
};

struct adsm_cache_counts { uint64_t misses, ahead, direct, dma_in, dma_out, bytes_in, bytes_out; };

/* A sequence of lines that missed: the next line, and its bytes if it was fetched ahead. */
struct adsm_cache_stream {
	uint64_t next;			/* the line after the last one; ADSM_STORE_NO_LINE: none */
	bool fetched;
	uint8_t *bytes;
};

/* The kinds of requests to a cache, which are recorded and replayed to other caches. */
enum adsm_cache_kind { ADSM_CACHE_READ, ADSM_CACHE_WRITE, ADSM_CACHE_DROP, ADSM_CACHE_FLUSH };

#define ADSM_CACHE_LOG 8192u

struct adsm_cache_log {
	uint32_t n;
	/* Some accesses were outside of device memory, at addresses that may differ next time. */
	bool elsewhere;
	void (*full)(struct adsm_cache_log *log);	/* processes all entries, and sets n to 0 */
	struct { uint64_t address; uint32_t size, kind; } v[ADSM_CACHE_LOG];
};

/* At the beginning of a core's window. */
struct adsm_cache {
	struct adsm_store store;
	const struct adsm_cache_memory *memory;
	/* Called for an access outside of device memory; does not return. */
	void (*wrong)(struct adsm_cache *cache, uint64_t address, const char *what);
	uint32_t line, line_shift, n_sets, n_ways, set_ways;	/* set_ways: ways from one set to the next */
	uint32_t dirty_words, dirty_shift;
	uint64_t *all_dirty;		/* dirty bits of all lines, in the order of ways */
	uint8_t *lines;
	uint32_t n_streams, oldest;
	struct adsm_cache_stream streams[ADSM_SCRATCHPAD_STREAMS];
	struct adsm_cache_counts counts;
	struct adsm_spans *spans;	/* when lines missed; NULL: not recorded */
	struct adsm_cache_log *log;	/* NULL: requests are not recorded */
	bool dry;			/* transfers are only counted */
	/* The real ways; with a log, store.ways is `none`, so that kernels call the cache for each access. */
	struct adsm_store_way *ways;
	uint64_t set_scale;
	struct adsm_store_way none[ADSM_STORE_INLINE_WAYS];
};

_Static_assert(sizeof(struct adsm_cache) <= ADSM_SCRATCHPAD_CONTROL, "a store's control has room for it");

/* Initialize an empty cache at the beginning of a store, with its parts behind it. Atomic operations (direct.h) are set
 * by the caller. */
void adsm_cache_init(struct adsm_cache *cache, const struct adsm_scratchpad_geometry *geometry,
		     const struct adsm_scratchpad_layout *layout, const struct adsm_cache_memory *memory,
		     void (*wrong)(struct adsm_cache *cache, uint64_t address, const char *what));
/* @each: from now on the clock counts every access. Otherwise it counts fewer, and accesses are faster. */
void adsm_cache_count(struct adsm_cache *cache, bool each);
/* From now on, record all accesses, which must be counted; NULL: stop that. Only between launches. */
void adsm_cache_record(struct adsm_cache *cache, struct adsm_cache_log *log);
/* Replay all recorded requests to another cache, which is dry. */
void adsm_cache_replay(struct adsm_cache *cache, const struct adsm_cache_log *log);
/* Write back all dirty bytes, and empty the cache. */
void adsm_cache_flush(struct adsm_cache *cache);
/* The same for the line of an address. */
void adsm_cache_drop(struct adsm_cache *cache, uint64_t address);
/* The address in this process of @size bytes of device memory. An access outside of that calls wrong(). */
uint8_t *adsm_cache_bytes(struct adsm_cache *cache, uint64_t address, uint64_t size, bool write);
