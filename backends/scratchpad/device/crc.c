/* SPDX-License-Identifier: MIT */
/* crc.c - see crc.h. Memory is accessed in words or bytes, each atomically, because others write the bytes beside
 * them. */
#include "crc.h"

#include "base/os.h"

#include <errno.h>
#include <string.h>

#define N_MUTEXES (sizeof(((struct adsm_crc *)0)->merging) / sizeof(pthread_mutex_t))
#define WRITER_BITS 16
#define WRITER_MASK (((uint64_t)1 << WRITER_BITS) - 1)

void adsm_crc_init(struct adsm_crc *crc, uint32_t page)
{
	memset(crc, 0, sizeof(*crc));
	crc->page = page;
	crc->page_shift = (uint32_t)__builtin_ctz(page);
	for (size_t i = 0; i < N_MUTEXES; i++)
		pthread_mutex_init(&crc->merging[i], NULL);
}

static uint64_t page_of(const struct adsm_crc *crc, uint64_t address)
{
	return address & ~(uint64_t)(crc->page - 1);
}

/* The index of a page in the span. */
static uint64_t index_of(const struct adsm_crc *crc, const struct adsm_crc_span *span, uint64_t address)
{
	return (address >> crc->page_shift) - (span->begin >> crc->page_shift);
}

int adsm_crc_write_span(struct adsm_crc *crc, struct adsm_crc_span *span, bool counted)
{
	const uint64_t n = index_of(crc, span, span->end - 1) + 1;

	if (!span->entries)
		span->entries = adsm_os_table(n * sizeof(*span->entries));
	if (!span->blocks && counted)
		span->blocks = adsm_os_table(n * sizeof(*span->blocks));
	return span->entries && (span->blocks || !counted) ? 0 : -ENOMEM;
}

static bool is_live(const struct adsm_crc_span *span, uint64_t address)
{
	const uint64_t page = (address - span->begin) / 4096;

	return !span->live || atomic_load_explicit(&span->live[page / 64], memory_order_relaxed) >> page % 64 & 1;
}

struct adsm_crc_span *adsm_crc_find(struct adsm_crc *crc, uint64_t address, uint64_t size, bool write)
{
	for (int i = 0; i < ADSM_CRC_SPANS; i++) {
		struct adsm_crc_span *span = &crc->spans[i];

		if (address >= span->begin && address < span->end && size <= span->end - address)
			return (write && !span->entries) || !is_live(span, address) ||
				!is_live(span, address + size - 1) ? NULL : span;
	}
	return NULL;
}

/* The part of a page that is in a span. Returns false if there is none. */
static bool clip(const struct adsm_crc *crc, const struct adsm_crc_span *span, uint64_t page, uint64_t *ret_begin,
		 uint64_t *ret_end)
{
	*ret_begin = page > span->begin ? page : span->begin;
	*ret_end = page + crc->page < span->end ? page + crc->page : span->end;
	return *ret_begin < *ret_end;
}

/* The span that contains the writable part of a page; there is at most one. NULL: none. */
static struct adsm_crc_span *find_page(struct adsm_crc *crc, uint64_t page, uint64_t *ret_begin, uint64_t *ret_end)
{
	for (int i = 0; i < ADSM_CRC_SPANS; i++)
		if (crc->spans[i].entries && clip(crc, &crc->spans[i], page, ret_begin, ret_end))
			return &crc->spans[i];
	return NULL;
}

/* ---- bytes */

static uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/* The ends of spans are aligned to words, except those of arguments. */
static void copy_out(uint8_t *to, const uint8_t *from, uint64_t size)
{
	uint64_t i = 0;

	for (; ((uintptr_t)(from + i) & 7) && i < size; i++)
		to[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
	for (; i + 8 <= size; i += 8) {
		const uint64_t word = __atomic_load_n((const uint64_t *)(from + i), __ATOMIC_RELAXED);

		memcpy(to + i, &word, 8);
	}
	for (; i < size; i++)
		to[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
}

static void store_differing(uint8_t *to, uint64_t word, uint64_t differing)
{
	const uint8_t *bytes = (const uint8_t *)&word, *which = (const uint8_t *)&differing;
	bool all = true;

	for (int i = 0; i < 8; i++)
		all = all && which[i];
	if (all) {
		__atomic_store_n((uint64_t *)to, word, __ATOMIC_RELAXED);
		return;
	}
	for (int i = 0; i < 8; i++)
		if (which[i])
			__atomic_store_n(to + i, bytes[i], __ATOMIC_RELAXED);
}

/* ---- notices */

/* The page's mutex is held. */
static void note(struct adsm_crc *crc, struct adsm_crc_span *span, uint32_t worker, uint64_t page, uint64_t blocks)
{
	struct adsm_crc_entry *entry = &span->entries[index_of(crc, span, page)];
	const uint64_t now = atomic_fetch_add(&crc->clock, 1) + 1;

	if (entry->writer != worker + 1)
		entry->other = entry->last;
	entry->writer = worker + 1;
	entry->last = now;
	for (; span->blocks && blocks; blocks &= blocks - 1) {
		struct adsm_crc_block *block = &span->blocks[index_of(crc, span, page)].of[__builtin_ctzll(blocks)];

		if ((block->last & WRITER_MASK) != worker + 1)
			block->other = block->last;
		block->last = now << WRITER_BITS | (worker + 1);
	}
}

static pthread_mutex_t *mutex_of(struct adsm_crc *crc, uint64_t page)
{
	return &crc->merging[(page >> crc->page_shift) % N_MUTEXES];
}

void adsm_crc_note(struct adsm_crc *crc, uint32_t worker, uint64_t address, uint64_t blocks)
{
	struct adsm_crc_span *span = adsm_crc_find(crc, address, 1, true);

	pthread_mutex_lock(mutex_of(crc, address));
	note(crc, span, worker, address, blocks);
	pthread_mutex_unlock(mutex_of(crc, address));
}

bool adsm_crc_is_stale(struct adsm_crc *crc, uint32_t worker, uint64_t address, uint64_t since)
{
	uint64_t begin, end, changed;
	struct adsm_crc_span *span = find_page(crc, page_of(crc, address), &begin, &end);
	const struct adsm_crc_entry *entry;

	if (!span)
		return false;
	entry = &span->entries[index_of(crc, span, begin)];
	pthread_mutex_lock(mutex_of(crc, begin));
	changed = entry->writer == worker + 1 ? entry->other : entry->last;
	pthread_mutex_unlock(mutex_of(crc, begin));
	return changed > since;
}

/* The last change of a block by another worker: time and writer. */
static uint64_t by_other(const struct adsm_crc_block *block, uint32_t worker)
{
	return (block->last & WRITER_MASK) == worker + 1 ? block->other : block->last;
}

/* The latest of these over all blocks; 0: none. */
static uint64_t last_by_other(const struct adsm_crc_blocks *blocks, uint32_t worker)
{
	uint64_t latest = 0;

	for (int i = 0; i < ADSM_CRC_BLOCKS; i++) {
		const uint64_t last = by_other(&blocks->of[i], worker);

		if (last > latest)
			latest = last;
	}
	return latest;
}

/* The page was given up in vain once more, because of @writer, which is from 1; 0: unknown. */
static void count_false(struct adsm_crc *crc, struct adsm_crc_entry *entry, uint32_t worker, uint64_t page,
			uint32_t writer)
{
	pthread_mutex_lock(&crc->merging[0]);
	if (entry->run != crc->run) {
		entry->run = crc->run;
		entry->n_false = 0;
	}
	if (++entry->n_false > crc->worst.n && writer)
		crc->worst = (struct adsm_crc_worst){ page, entry->n_false, worker, writer - 1 };
	pthread_mutex_unlock(&crc->merging[0]);
}

bool adsm_crc_shares_falsely(struct adsm_crc *crc, uint32_t worker, uint64_t address, uint64_t since,
			     uint64_t touched)
{
	uint64_t begin, end;
	struct adsm_crc_span *span = find_page(crc, page_of(crc, address), &begin, &end);
	const uint64_t index = span ? index_of(crc, span, begin) : 0;
	bool changed = false;
	uint64_t last;

	if (!span || !span->blocks)
		return false;
	pthread_mutex_lock(mutex_of(crc, begin));
	for (; touched; touched &= touched - 1)
		changed |= by_other(&span->blocks[index].of[__builtin_ctzll(touched)], worker) >> WRITER_BITS > since;
	last = last_by_other(&span->blocks[index], worker);
	pthread_mutex_unlock(mutex_of(crc, begin));
	if (!changed)
		count_false(crc, &span->entries[index], worker, page_of(crc, address), (uint32_t)(last & WRITER_MASK));
	return !changed;
}

/* ---- pages */

uint64_t adsm_crc_fetch(struct adsm_crc *crc, uint64_t address, uint8_t *to)
{
	const uint64_t page = page_of(crc, address), since = atomic_load(&crc->clock);
	uint64_t begin, end, n = 0;

	for (int i = 0; i < ADSM_CRC_SPANS; i++) {
		const struct adsm_crc_span *span = &crc->spans[i];

		if (!clip(crc, span, page, &begin, &end))
			continue;
		copy_out(to + (begin - page), span->bytes + (begin - span->begin), end - begin);
		n += end - begin;
		if (n == crc->page)
			break;
	}
	return since;
}

void adsm_crc_twin(const struct adsm_crc *crc, const uint8_t *copy, uint8_t *twin)
{
	memcpy(twin, copy, crc->page);
}

uint64_t adsm_crc_merge(struct adsm_crc *crc, uint32_t worker, uint64_t address, const uint8_t *copy, uint8_t *twin)
{
	const uint64_t page = page_of(crc, address);
	uint64_t begin, end, blocks = 0;
	struct adsm_crc_span *span = find_page(crc, page, &begin, &end);
	pthread_mutex_t *mutex = mutex_of(crc, page);
	uint8_t *bytes = span->bytes + (begin - span->begin);

	pthread_mutex_lock(mutex);
	for (uint64_t at = begin - page; at < end - page; at += 8) {
		const uint64_t word = word_at(copy + at), differing = word ^ word_at(twin + at);

		if (!differing)
			continue;
		store_differing(bytes + (at - (begin - page)), word, differing);
		memcpy(twin + at, &word, 8);
		blocks |= (uint64_t)1 << (at * ADSM_CRC_BLOCKS >> crc->page_shift);
	}
	if (blocks)
		note(crc, span, worker, begin, blocks);
	pthread_mutex_unlock(mutex);
	return blocks;
}
