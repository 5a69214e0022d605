/* SPDX-License-Identifier: MIT */
/* cache.c - see cache.h. */
#include "cache.h"

#include "store.h"

#include <string.h>

#define PAGE ((uint64_t)4096)

static struct adsm_cache *cache_of(struct adsm_store *store)
{
	return (struct adsm_cache *)store;
}

/* ---- transfers */

static bool is_live(const struct adsm_cache_memory *memory, uint64_t offset)
{
	const uint64_t page = offset / PAGE;

	return !memory->live || atomic_load_explicit(&memory->live[page / 64], memory_order_relaxed) >> page % 64 & 1;
}

/* Returns NULL if kernels may not access this memory. */
static uint8_t *look_up(const struct adsm_cache_memory *memory, uint64_t address, uint64_t size, bool write)
{
	const uint64_t lent_size = memory->lent.end - memory->lent.begin;

	if (address - memory->base < memory->size && size <= memory->size - (address - memory->base))
		return is_live(memory, address - memory->base) && is_live(memory, address - memory->base + size - 1) ?
			memory->bytes + (address - memory->base) : NULL;
	if (address - memory->lent.begin < lent_size && size <= lent_size - (address - memory->lent.begin))
		return (uint8_t *)(uintptr_t)address;
	/* A line also has what is beside them, but writes only what was stored. */
	if (address < memory->variables.end && address + size > memory->variables.begin)
		return (uint8_t *)(uintptr_t)address;
	for (int i = 0; i < ADSM_CACHE_READABLE; i++)
		if (!write && address >= memory->readable[i].begin && address < memory->readable[i].end)
			return (uint8_t *)(uintptr_t)address;
	return NULL;
}

uint8_t *adsm_cache_bytes(struct adsm_cache *cache, uint64_t address, uint64_t size, bool write)
{
	uint8_t *bytes = look_up(cache->memory, address, size, write);

	if (!bytes)
		cache->wrong(cache, address, write ? "a store" : "a load");
	return bytes;
}

static void dma_in(struct adsm_cache *cache, uint8_t *restrict to, const uint8_t *restrict from)
{
	const uint32_t line = cache->line;

	for (uint32_t i = 0; i < line && !cache->dry; i += 16) {
		const uint64_t first = __atomic_load_n((const uint64_t *)(from + i), __ATOMIC_RELAXED);
		const uint64_t second = __atomic_load_n((const uint64_t *)(from + i + 8), __ATOMIC_RELAXED);

		memcpy(to + i, &first, 8);
		memcpy(to + i + 8, &second, 8);
	}
	cache->counts.dma_in++;
	cache->counts.bytes_in += line;
}

/* Which of the 8 bytes at @offset of a line are dirty: a bit for each. */
static unsigned dirty_bytes(const struct adsm_cache *cache, const uint64_t *dirty, uint32_t offset)
{
	const uint32_t bit = offset >> cache->dirty_shift;
	const uint64_t bits = dirty[bit >> 6] >> (bit & 63);
	unsigned bytes = 0;

	if (!cache->dirty_shift)
		return bits & 255;
	for (unsigned i = 0; i < 8; i++)
		bytes |= (unsigned)(bits >> (i >> cache->dirty_shift) & 1) << i;
	return bytes;
}

static void dma_out(struct adsm_cache *cache, uint8_t *to, const uint8_t *from, const uint64_t *dirty)
{
	for (uint32_t i = 0; i < cache->line; i += 8) {
		const unsigned bytes = dirty_bytes(cache, dirty, i);
		uint64_t word;

		if (cache->dry) {
			/* Only counted, below. */
		} else if (bytes == 255) {
			memcpy(&word, from + i, 8);
			__atomic_store_n((uint64_t *)(to + i), word, __ATOMIC_RELAXED);
		} else {
			for (unsigned rest = bytes; rest; rest &= rest - 1) {
				const uint32_t at = i + (uint32_t)__builtin_ctz(rest);

				__atomic_store_n(to + at, from[at], __ATOMIC_RELAXED);
			}
		}
		cache->counts.bytes_out += (uint64_t)__builtin_popcount(bytes);
	}
	cache->counts.dma_out++;
}

/* ---- the log */

static void note(struct adsm_cache *cache, enum adsm_cache_kind kind, uint64_t address, uint64_t size)
{
	struct adsm_cache_log *log = cache->log;

	if (log->n == ADSM_CACHE_LOG)
		log->full(log);
	if (kind != ADSM_CACHE_FLUSH && address - cache->memory->base >= cache->memory->size)
		log->elsewhere = true;
	log->v[log->n].address = address;
	log->v[log->n].size = (uint32_t)size;
	log->v[log->n++].kind = kind;
}

/* ---- lines */

static struct adsm_store_way *set_of(const struct adsm_cache *cache, uint64_t address)
{
	return (struct adsm_store_way *)((char *)cache->ways +
					 ((address & cache->store.set_mask) * cache->set_scale >> 8));
}

/* Find the line @tag in its set. Otherwise returns NULL and the way that was used least recently, or never. */
static struct adsm_store_way *lookup_line(const struct adsm_cache *cache, struct adsm_store_way *set, uint64_t tag,
					  struct adsm_store_way **ret_oldest)
{
	const uint32_t n = cache->n_ways;
	struct adsm_store_way *oldest = set;

	for (uint32_t i = 0; i < n; i++) {
		if (set[i].tag == tag)
			return &set[i];
		oldest = set[i].used < oldest->used ? &set[i] : oldest;
	}
	*ret_oldest = oldest;
	return NULL;
}

/* A line that was fetched ahead is no longer needed. At most one stream has fetched it. */
static void forget_ahead(struct adsm_cache *cache, uint64_t tag)
{
	for (uint32_t i = 0; i < cache->n_streams; i++)
		if (cache->streams[i].next == tag)
			cache->streams[i].fetched = false;
}

static void write_back(struct adsm_cache *cache, struct adsm_store_way *way)
{
	uint64_t any = 0;

	if (way->tag == ADSM_STORE_NO_LINE)
		return;
	for (uint32_t i = 0; i < cache->dirty_words; i++)
		any |= way->dirty[i];
	if (!any)
		return;
	dma_out(cache, adsm_cache_bytes(cache, way->tag, cache->line, true),
		(const uint8_t *)(uintptr_t)(way->tag + way->bias), way->dirty);
	memset(way->dirty, 0, cache->dirty_words * sizeof(*way->dirty));
}

static void forget_last(struct adsm_cache *cache, uint64_t tag)
{
	for (int kind = 0; kind < 2; kind++)
		if (cache->store.last[kind].tag == tag)
			cache->store.last[kind].tag = ADSM_STORE_NO_LINE;
}

static void give_up(struct adsm_cache *cache, struct adsm_store_way *way)
{
	uint8_t *bytes = (uint8_t *)(uintptr_t)(way->tag + way->bias);

	write_back(cache, way);
	forget_last(cache, way->tag);
	way->tag = ADSM_STORE_NO_LINE;
	way->bias = (uint64_t)(uintptr_t)bytes - way->tag;
	way->used = 0;
}

/* The stream that a missed line continues; NULL: the line begins another stream. */
static struct adsm_cache_stream *find_stream(struct adsm_cache *cache, uint64_t tag)
{
	struct adsm_cache_stream *found = NULL;

	for (uint32_t i = 0; i < cache->n_streams; i++)
		if (cache->streams[i].next == tag && (!found || cache->streams[i].fetched))
			found = &cache->streams[i];
	return found;
}

/*
 * After a miss of @tag: fetch the next line ahead, if it is in the same page, because the next page may not be
 * allocated. A line that the cache has is not fetched. So a line that was fetched ahead has not been written by this
 * core since.
 */
static void fetch_ahead(struct adsm_cache *cache, struct adsm_cache_stream *stream, uint64_t tag)
{
	const uint64_t next = tag + cache->line;
	struct adsm_store_way *oldest;
	const uint8_t *from;

	if (!stream) {
		stream = &cache->streams[cache->oldest];
		cache->oldest = (cache->oldest + 1) % cache->n_streams;
		stream->next = next;
		stream->fetched = false;
		return;
	}
	forget_ahead(cache, next);
	stream->next = next;
	stream->fetched = false;
	from = look_up(cache->memory, next, cache->line, false);
	if (next % PAGE == 0 || !from || lookup_line(cache, set_of(cache, next), next, &oldest))
		return;
	dma_in(cache, stream->bytes, from);
	stream->fetched = true;
}

/* Replace the contents of a way. */
static void miss(struct adsm_cache *cache, struct adsm_store_way *way, uint64_t address)
{
	const uint64_t tag = address & cache->store.tag_mask;
	const uint8_t *from = look_up(cache->memory, address, 1, false);
	struct adsm_cache_stream *stream = cache->n_streams ? find_stream(cache, tag) : NULL;
	uint8_t *bytes;

	/* A store to a line that is not in the cache fetches the line first. */
	if (!from)
		cache->wrong(cache, address, "an access");
	give_up(cache, way);
	cache->counts.misses++;
	bytes = (uint8_t *)(uintptr_t)(way->tag + way->bias);
	if (stream && stream->fetched) {
		uint8_t *ahead = stream->bytes;

		cache->counts.ahead++;
		stream->bytes = bytes;
		bytes = ahead;
	} else {
		dma_in(cache, bytes, from - (address - tag));
	}
	way->tag = tag;
	way->bias = (uint64_t)(uintptr_t)bytes - tag;
	if (cache->n_streams)
		fetch_ahead(cache, stream, tag);
}

static void miss_seen(struct adsm_cache *cache, struct adsm_store_way *way, uint64_t address)
{
	const uint64_t start = adsm_spans_now(), bytes = cache->counts.bytes_in;

	miss(cache, way, address);
	adsm_spans_add(cache->spans, start, adsm_spans_now(), cache->counts.bytes_in - bytes);
}

static void swap(struct adsm_store_way *a, struct adsm_store_way *b)
{
	const struct adsm_store_way other = *a;

	*a = *b;
	*b = other;
}

/* An access: the line of an address, which is in the cache from now on. */
static struct adsm_store_way *line_of(struct adsm_cache *cache, uint64_t address)
{
	struct adsm_store *store = &cache->store;
	struct adsm_store_way *set = set_of(cache, address), *oldest = NULL;
	struct adsm_store_way *way = lookup_line(cache, set, address & store->tag_mask, &oldest);

	if (way && (way->tag == store->last[ADSM_STORE_GET].tag ||
		    way->tag == store->last[ADSM_STORE_PUT].tag))
		return way;
	if (!way) {
		/* Put it into the first way, where kernels look first. Swap before writing, so that no copy has to wait
		 * for the write. */
		way = set;
		swap(way, oldest);
		if (cache->spans)
			miss_seen(cache, way, address);
		else
			miss(cache, way, address);
	}
	way->used = ++store->clock;
	for (int kind = 0; kind < 2; kind++)
		if (!((store->last[kind].tag ^ way->tag) & store->set_mask))
			store->last[kind].tag = ADSM_STORE_NO_LINE;
	return way;
}

void adsm_cache_count(struct adsm_cache *cache, bool each)
{
	cache->store.counted = each ? ~(uint64_t)0 : 0;
	cache->store.last[ADSM_STORE_GET].tag = cache->store.last[ADSM_STORE_PUT].tag = ADSM_STORE_NO_LINE;
}

void adsm_cache_flush(struct adsm_cache *cache)
{
	if (cache->log)
		note(cache, ADSM_CACHE_FLUSH, 0, 0);
	for (uint32_t i = 0; i < cache->n_sets; i++)
		for (uint32_t k = 0; k < cache->n_ways; k++)
			if (cache->ways[i * cache->set_ways + k].tag != ADSM_STORE_NO_LINE)
				give_up(cache, &cache->ways[i * cache->set_ways + k]);
	for (uint32_t i = 0; i < cache->n_streams; i++) {
		cache->streams[i].next = ADSM_STORE_NO_LINE;
		cache->streams[i].fetched = false;
	}
}

void adsm_cache_drop(struct adsm_cache *cache, uint64_t address)
{
	struct adsm_store_way *oldest;
	struct adsm_store_way *way = lookup_line(cache, set_of(cache, address), address & cache->store.tag_mask,
						 &oldest);

	if (cache->log)
		note(cache, ADSM_CACHE_DROP, address, 1);
	if (way)
		give_up(cache, way);
	forget_ahead(cache, address & cache->store.tag_mask);
}

/* ---- functions that kernels call */

/* The number of bytes from @address on, at most @size, that are in one line. */
static uint64_t in_line(const struct adsm_cache *cache, uint64_t address, uint64_t size)
{
	const uint64_t left = cache->line - (address & ~cache->store.tag_mask);

	return size < left ? size : left;
}

static void mark_dirty(struct adsm_cache *cache, struct adsm_store_way *way, uint64_t address, uint64_t size)
{
	const uint64_t offset = address & ~cache->store.tag_mask;

	for (uint64_t bit = offset >> cache->dirty_shift; bit <= (offset + size - 1) >> cache->dirty_shift; bit++)
		way->dirty[bit >> 6] |= (uint64_t)1 << (bit & 63);
}

static void cache_read(struct adsm_store *store, uint64_t address, void *to, uint64_t size)
{
	uint8_t *bytes = to;

	if (cache_of(store)->log)
		note(cache_of(store), ADSM_CACHE_READ, address, size);
	for (uint64_t n; size; address += n, bytes += n, size -= n) {
		n = in_line(cache_of(store), address, size);
		memcpy(bytes, (const void *)(uintptr_t)(address + line_of(cache_of(store), address)->bias), n);
	}
}

__attribute__((flatten))
static void cache_write(struct adsm_store *store, uint64_t address, const void *from, uint64_t size)
{
	struct adsm_cache *cache = cache_of(store);
	const uint8_t *bytes = from;

	if (cache->log)
		note(cache, ADSM_CACHE_WRITE, address, size);
	for (uint64_t n; size; address += n, bytes += n, size -= n) {
		struct adsm_store_way *way = line_of(cache, address);

		n = in_line(cache, address, size);
		adsm_cache_bytes(cache, address, n, true);
		memcpy((void *)(uintptr_t)(address + way->bias), bytes, n);
		mark_dirty(cache, way, address, n);
	}
}

#define LOAD(type, bytes) __extension__ ({ \
	type value_; \
\
	memcpy(&value_, bytes, sizeof(value_)); \
	value_; })

/* Misses go through these two functions. Inlining everything (flatten) saves a third of the time. */
__attribute__((flatten))
static uint64_t cache_get(struct adsm_store *store, uint64_t address, uint64_t size)
{
	uint64_t value = 0;
	const struct adsm_store_way *way;
	const char *bytes;

	if (address & (size - 1)) {
		cache_read(store, address, &value, size);
		return value;
	}
	if (__builtin_expect(cache_of(store)->log != NULL, 0))
		note(cache_of(store), ADSM_CACHE_READ, address, size);
	way = line_of(cache_of(store), address);
	store->last[ADSM_STORE_GET] = (struct adsm_store_last){ way->tag | store->counted, way->bias, way->dirty };
	bytes = (const char *)(uintptr_t)(address + way->bias);
	/* One load for each size: a value that is assembled in memory would delay the load. */
	switch (size) {
	case 1: return *(const uint8_t *)bytes;
	case 2: return LOAD(uint16_t, bytes);
	case 4: return LOAD(uint32_t, bytes);
	default: return LOAD(uint64_t, bytes);
	}
}

static void replay_access(struct adsm_cache *cache, uint64_t address, uint64_t size, bool write)
{
	for (uint64_t n; size; address += n, size -= n) {
		struct adsm_store_way *way = line_of(cache, address);

		n = in_line(cache, address, size);
		if (write)
			mark_dirty(cache, way, address, n);
	}
}

void adsm_cache_replay(struct adsm_cache *cache, const struct adsm_cache_log *log)
{
	for (uint32_t i = 0; i < log->n; i++) {
		const uint64_t address = log->v[i].address;

		if (log->v[i].kind == ADSM_CACHE_FLUSH)
			adsm_cache_flush(cache);
		else if (log->v[i].kind == ADSM_CACHE_DROP)
			adsm_cache_drop(cache, address);
		else
			replay_access(cache, address, log->v[i].size, log->v[i].kind == ADSM_CACHE_WRITE);
	}
}

void adsm_cache_record(struct adsm_cache *cache, struct adsm_cache_log *log)
{
	cache->log = log;
	cache->store.ways = log ? cache->none : cache->ways;
	cache->store.set_scale = log ? 0 : cache->set_scale;
}

static void cache_fence(struct adsm_store *store)
{
	adsm_cache_flush(cache_of(store));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* ---- initialization */

static uint32_t log2_of(uint32_t power)
{
	return (uint32_t)__builtin_ctz(power);
}

/* Each way gets a line, whose address is in its bias, and dirty bits. */
static void init_ways(struct adsm_cache *cache)
{
	uint64_t line = 0;

	for (uint32_t i = 0; i < cache->n_sets * cache->set_ways; i++) {
		struct adsm_store_way *way = &cache->ways[i];

		*way = (struct adsm_store_way){ .tag = ADSM_STORE_NO_LINE };
		if (i % cache->set_ways >= cache->n_ways)
			continue;
		way->bias = (uint64_t)(uintptr_t)(cache->lines + line * cache->line) - ADSM_STORE_NO_LINE;
		way->dirty = cache->all_dirty + line * cache->dirty_words;
		line++;
	}
}

void adsm_cache_init(struct adsm_cache *cache, const struct adsm_scratchpad_geometry *geometry,
		     const struct adsm_scratchpad_layout *layout, const struct adsm_cache_memory *memory,
		     void (*wrong)(struct adsm_cache *cache, uint64_t address, const char *what))
{
	uint8_t *parts = (uint8_t *)cache + layout->control;
	struct adsm_store *store = &cache->store;

	memset(parts, 0, layout->tags + layout->dirty + layout->lines + layout->ahead);
	*cache = (struct adsm_cache) {
		.memory = memory, .wrong = wrong,
		.line = geometry->line, .line_shift = log2_of(geometry->line),
		.n_sets = geometry->sets, .n_ways = geometry->ways,
		.set_ways = geometry->ways < ADSM_STORE_INLINE_WAYS ? ADSM_STORE_INLINE_WAYS : geometry->ways,
		.dirty_words = (geometry->line / geometry->dirty + 63) / 64, .dirty_shift = log2_of(geometry->dirty),
		.all_dirty = (uint64_t *)(parts + layout->tags), .lines = parts + layout->tags + layout->dirty,
		.n_streams = geometry->prefetch ? ADSM_SCRATCHPAD_STREAMS : 0,
	};
	*store = (struct adsm_store) {
		.ways = (struct adsm_store_way *)parts,
		.tag_mask = ~(uint64_t)(geometry->line - 1),
		.set_mask = (uint64_t)(geometry->sets - 1) << cache->line_shift,
		.set_scale = (cache->set_ways * sizeof(struct adsm_store_way) << 8) >> cache->line_shift,
		.last = { { .tag = ADSM_STORE_NO_LINE }, { .tag = ADSM_STORE_NO_LINE } },
		.dirty_shift = cache->dirty_shift,
		.get = cache_get, .put = adsm_store_put, .read = cache_read, .write = cache_write,
		.move = adsm_store_move, .fill = adsm_store_fill, .fence = cache_fence,
	};
	for (uint32_t i = 0; i < 5; i++)
		store->dirty_ones[i] = ((uint64_t)1 << (((((uint32_t)1 << i) - 1) >> cache->dirty_shift) + 1)) - 1;
	cache->ways = store->ways;
	cache->set_scale = store->set_scale;
	for (int i = 0; i < ADSM_STORE_INLINE_WAYS; i++)
		cache->none[i] = (struct adsm_store_way){ .tag = ADSM_STORE_NO_LINE };
	init_ways(cache);
	for (uint32_t i = 0; i < cache->n_streams; i++)
		cache->streams[i] = (struct adsm_cache_stream){
			ADSM_STORE_NO_LINE, false, cache->lines + layout->lines + (size_t)i * geometry->line,
		};
}
