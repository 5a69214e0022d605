/* SPDX-License-Identifier: MIT */
/* live.c - see live.h. */
#include "live.h"

#include "base/log.h"
#include "base/os.h"

#define NONE UINT64_MAX

size_t adsm_live_bytes(size_t size)
{
	const size_t n_words = (size / ADSM_PAGE_SIZE + 63) / 64;
	const size_t bytes = sizeof(struct adsm_live_shared) + 2 * n_words * sizeof(uint64_t);

	return (bytes + ADSM_PAGE_SIZE - 1) & ~(ADSM_PAGE_SIZE - 1);
}

void adsm_live_start(struct adsm_live *live, void *shared, size_t size)
{
	live->shared = shared;
	live->n_pages = size / ADSM_PAGE_SIZE;
	live->pages = live->shared->bits;
	live->begins = live->pages + (live->n_pages + 63) / 64;
}

/* ---- the application's side */

static void set_bits(_Atomic uint64_t *bits, uint64_t first, uint64_t n, bool on)
{
	while (n) {
		const uint64_t bit = first % 64, here = n < 64 - bit ? n : 64 - bit;
		const uint64_t mask = (here == 64 ? ~(uint64_t)0 : ((uint64_t)1 << here) - 1) << bit;

		/* Bits of neighbouring objects may be in the same word. */
		if (on)
			atomic_fetch_or(&bits[first / 64], mask);
		else
			atomic_fetch_and(&bits[first / 64], ~mask);
		first += here;
		n -= here;
	}
}

void adsm_live_add(struct adsm_live *live, uint64_t offset, uint64_t size)
{
	set_bits(live->begins, offset / ADSM_PAGE_SIZE, 1, true);
	set_bits(live->pages, offset / ADSM_PAGE_SIZE, size / ADSM_PAGE_SIZE, true);
}

void adsm_live_remove(struct adsm_live *live, uint64_t offset, uint64_t size)
{
	struct adsm_live_shared *shared = live->shared;
	const uint64_t n = atomic_load(&shared->n_freed);

	set_bits(live->pages, offset / ADSM_PAGE_SIZE, size / ADSM_PAGE_SIZE, false);
	set_bits(live->begins, offset / ADSM_PAGE_SIZE, size / ADSM_PAGE_SIZE, false);
	/* After the bits: a device that closes the range when it reads this does not open it again. */
	atomic_store(&shared->freed[n % ADSM_LIVE_FREED].offset, offset);
	atomic_store(&shared->freed[n % ADSM_LIVE_FREED].size, size);
	atomic_store(&shared->n_freed, n + 1);
}

/* ---- the device's side */

bool adsm_live_has(const struct adsm_live *live, uint64_t offset)
{
	const uint64_t page = offset / ADSM_PAGE_SIZE;

	return page < live->n_pages && atomic_load(&live->pages[page / 64]) >> page % 64 & 1;
}

/* The first page from @page on and before @end whose bit is @on, or the last one up to @page; NONE if there is none. */
static uint64_t next(const _Atomic uint64_t *bits, uint64_t page, uint64_t end, bool on)
{
	uint64_t word;

	while (page < end) {
		word = (on ? atomic_load(&bits[page / 64]) : ~atomic_load(&bits[page / 64])) >> page % 64;
		if (word) {
			page += (uint64_t)__builtin_ctzll(word);
			return page < end ? page : NONE;
		}
		page = (page / 64 + 1) * 64;
	}
	return NONE;
}

static uint64_t previous(const _Atomic uint64_t *bits, uint64_t page, bool on)
{
	uint64_t word;

	for (;; page = page / 64 * 64 - 1) {
		word = (on ? atomic_load(&bits[page / 64]) : ~atomic_load(&bits[page / 64])) << (63 - page % 64);
		if (word)
			return page - (uint64_t)__builtin_clzll(word);
		if (page < 64)
			return NONE;
	}
}

bool adsm_live_run(const struct adsm_live *live, uint64_t offset, struct adsm_live_range *ret_range)
{
	const uint64_t page = offset / ADSM_PAGE_SIZE;
	uint64_t before, after, first, end;

	if (!adsm_live_has(live, offset))
		return false;
	before = previous(live->pages, page, false);
	after = next(live->pages, page, live->n_pages, false);
	first = before == NONE ? 0 : before + 1;
	end = after < live->n_pages ? after : live->n_pages;
	/* The page was live in the check above, but may have been freed meanwhile. */
	if (first > page || end <= page)
		return false;
	*ret_range = (struct adsm_live_range){ first * ADSM_PAGE_SIZE, (end - first) * ADSM_PAGE_SIZE };
	return true;
}

/* The allocation that contains a live page: from the last begin up to @page to the next begin or the end of live
 * memory. */
static struct adsm_live_range memory_of(const struct adsm_live *live, uint64_t page)
{
	const uint64_t first = previous(live->begins, page, true);
	const uint64_t hole = next(live->pages, page, live->n_pages, false);
	const uint64_t end_of_live = hole < live->n_pages ? hole : live->n_pages;
	/* Not beyond: the bits of all memory would take long to search. */
	const uint64_t other = first == NONE ? NONE : next(live->begins, first + 1, end_of_live, true);
	const uint64_t begin = first == NONE ? page : first;
	const uint64_t end = other < end_of_live ? other : end_of_live;

	return (struct adsm_live_range){ begin * ADSM_PAGE_SIZE, (end - begin) * ADSM_PAGE_SIZE };
}

static void say_distance(struct adsm_live_range object, uint64_t base, uint64_t distance, bool behind, char *ret_text,
			 size_t size)
{
	adsm_format(ret_text, size, "%lu bytes %s the %lu bytes of an object at %p", (unsigned long)distance,
		    behind ? "behind the end of" : "before", (unsigned long)object.size,
		    (void *)(uintptr_t)(base + object.offset));
}

void adsm_live_say(const struct adsm_live *live, uint64_t base, uint64_t address, char *ret_text, size_t size)
{
	const uint64_t offset = address - base, page = offset / ADSM_PAGE_SIZE;
	uint64_t below, above, behind, before;
	struct adsm_live_range range;

	*ret_text = '\0';
	if (page >= live->n_pages || adsm_live_has(live, offset))
		return;
	below = previous(live->pages, page, true);
	above = next(live->pages, page, live->n_pages, true);
	behind = below == NONE ? NONE : offset - (below + 1) * ADSM_PAGE_SIZE;
	before = above == NONE ? NONE : above * ADSM_PAGE_SIZE - offset;
	if (below == NONE && above == NONE)
		return;
	range = memory_of(live, behind < before ? below : above);
	say_distance(range, base, behind < before ? behind : before, behind < before, ret_text, size);
}

/* The object that contains an address. Returns false if there is none. */
static bool find_object(const struct adsm_live *live, uint64_t offset, struct adsm_live_range *ret_range)
{
	if (!adsm_live_has(live, offset))
		return false;
	*ret_range = memory_of(live, offset / ADSM_PAGE_SIZE);
	return true;
}

static bool contains(struct adsm_live_range object, struct adsm_live_range range)
{
	return range.size <= object.size && range.offset - object.offset <= object.size - range.size;
}

bool adsm_live_inside(const struct adsm_live *live, uint64_t base, struct adsm_live_range range, uint64_t of,
		      char *ret_text, size_t size)
{
	struct adsm_live_range own, other;
	uint64_t end;

	*ret_text = '\0';
	range.offset -= base;
	if (!find_object(live, of - base, &own)) {
		if (range.offset / ADSM_PAGE_SIZE >= live->n_pages)
			return true;
		if (find_object(live, range.offset, &own) && contains(own, range))
			return true;
		end = range.offset + range.size - 1;
		adsm_live_say(live, base, base + (adsm_live_has(live, range.offset) ? end : range.offset), ret_text,
			      size);
		/* The range is in two objects, or no object is live. */
		if (!*ret_text)
			adsm_format(ret_text, size, "at address %p, which is in no object as a whole",
				    (void *)(uintptr_t)(base + range.offset));
		return false;
	}
	if (contains(own, range) ||
	    (of - base == own.offset && find_object(live, own.offset - 1, &other) && contains(other, range)))
		return true;
	end = own.offset + own.size;
	if ((int64_t)(range.offset - own.offset) < 0)
		say_distance(own, base, own.offset - range.offset, false, ret_text, size);
	else
		say_distance(own, base, range.offset < end ? 0 : range.offset - end, true, ret_text, size);
	return false;
}
