/* SPDX-License-Identifier: MIT */
/*
 * cache.h - the software cache of a core: what kernels ask where the part of it in themselves (adsm_scratchpad.h) has
 * not found the line, and its end. Write-back, write-allocate, least recently used; of a line only the bytes that were
 * written go back, so cores may write neighbouring bytes.
 *
 * Transfers are copies between the device's memory and the local store. Memory is read and written by words of 8 bytes,
 * or byte by byte where not all are dirty, atomically each: other cores have other bytes of them.
 */
#ifndef ADSM_SCRATCHPAD_CACHE_H
#define ADSM_SCRATCHPAD_CACHE_H

#include <stdatomic.h>

#include "adsm_scratchpad.h"
#include "store/layout.h"
#include "spans.h"

#define ADSM_CACHE_READABLE 2

/* Where device memory is in this process, and what else a launch may read by the cache. One for all cores. */
struct adsm_cache_memory {
	uint64_t base, size;		/* device addresses */
	uint8_t *bytes;
	const _Atomic uint64_t *live;	/* of its pages, a bit each: those that are somebody's; NULL: all */
	struct { uint64_t begin, end; } lent;	/* at its addresses, too: what kernels allocate */
	struct { uint64_t begin, end; } readable[ADSM_CACHE_READABLE];	/* at their addresses: arguments, tables */
};

struct adsm_cache_counts { uint64_t misses, ahead, direct, dma_in, dma_out, bytes_in, bytes_out; };

/* Lines that were missed in their order: what comes next, and its bytes where they have been fetched. */
struct adsm_cache_stream {
	uint64_t next;			/* the line behind the last one; ADSM_STORE_NO_LINE: none */
	bool fetched;
	uint8_t *bytes;
};

/* What was asked of a cache, for others to be asked the same. */
enum adsm_cache_kind { ADSM_CACHE_READ, ADSM_CACHE_WRITE, ADSM_CACHE_DROP, ADSM_CACHE_FLUSH };

#define ADSM_CACHE_LOG 8192u

struct adsm_cache_log {
	uint32_t n;
	bool elsewhere;			/* some was outside of device memory: at addresses that are others next time */
	void (*full)(struct adsm_cache_log *log);	/* takes all of it, and sets n to 0 */
	struct { uint64_t address; uint32_t size, kind; } v[ADSM_CACHE_LOG];
};

/* At the beginning of a core's window. */
struct adsm_cache {
	struct adsm_store store;
	const struct adsm_cache_memory *memory;
	/* Of an access to what is no device memory: does not return. */
	void (*wrong)(struct adsm_cache *cache, uint64_t address, const char *what);
	uint32_t line, line_shift, n_sets, n_ways, set_ways;	/* set_ways: from one set to the next */
	uint32_t dirty_words, dirty_shift;
	uint64_t *all_dirty;		/* of all lines, way by way */
	uint8_t *lines;
	uint32_t n_streams, oldest;
	struct adsm_cache_stream streams[ADSM_SCRATCHPAD_STREAMS];
	struct adsm_cache_counts counts;
	struct adsm_spans *spans;	/* when lines were missed; NULL: nobody asks */
	struct adsm_cache_log *log;	/* NULL: nobody asks */
	bool dry;			/* its transfers are counted, and no byte is moved */
	struct adsm_store_way *ways;	/* as the store's, which has none while there is a log: kernels ask then */
	uint64_t set_scale;
	struct adsm_store_way none[ADSM_STORE_INLINE_WAYS];
};

_Static_assert(sizeof(struct adsm_cache) <= ADSM_SCRATCHPAD_CONTROL, "a store's control has room for it");

/* An empty cache, without what is of the memory itself (direct.h), at the beginning of a store: parts lie behind it. */
void adsm_cache_init(struct adsm_cache *cache, const struct adsm_scratchpad_geometry *geometry,
		     const struct adsm_scratchpad_layout *layout, const struct adsm_cache_memory *memory,
		     void (*wrong)(struct adsm_cache *cache, uint64_t address, const char *what));
/* The line of an address, which the cache has from now on: an access. */
struct adsm_store_way *adsm_cache_line(struct adsm_cache *cache, uint64_t address);
/* From now on the clock is how many accesses there were; else it ticks less, and accesses take less time. */
void adsm_cache_count(struct adsm_cache *cache, bool each);
/* From now on all accesses are noted, each that is counted; NULL: no longer. Between launches. */
void adsm_cache_record(struct adsm_cache *cache, struct adsm_cache_log *log);
/* All that was noted, to another cache, which is dry. */
void adsm_cache_replay(struct adsm_cache *cache, const struct adsm_cache_log *log);
/* Write back what is dirty, and forget all. */
void adsm_cache_flush(struct adsm_cache *cache);
/* The same for the one line of an address. */
void adsm_cache_drop(struct adsm_cache *cache, uint64_t address);
/* Where @size bytes of device memory are in this process; not outside of it. */
uint8_t *adsm_cache_bytes(struct adsm_cache *cache, uint64_t address, uint64_t size, bool write);

#endif
