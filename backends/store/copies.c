/* SPDX-License-Identifier: MIT */
/* copies.c - see copies.h. */
#include "copies.h"

#include "direct.h"
#include "store.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct adsm_copies *pages_of(struct adsm_store *store)
{
	return (struct adsm_copies *)store;
}

/* ---- pages in the cache */

static struct adsm_store_way *set_of(const struct adsm_copies *pages, uint64_t address)
{
	const uint64_t set = (address >> pages->page_shift) & (pages->n_sets - 1);

	return pages->ways + set * ADSM_STORE_INLINE_WAYS;
}

static uint8_t *bytes_of(const struct adsm_store_way *way)
{
	return (uint8_t *)(uintptr_t)(way->tag + way->bias);
}

static uint32_t number_of(const struct adsm_copies *pages, const struct adsm_store_way *way)
{
	return (uint32_t)((uint64_t)(bytes_of(way) - pages->bytes) >> pages->page_shift);
}

/* Find the page of an address. Otherwise returns NULL and the way that was used least recently, or never. */
static struct adsm_store_way *lookup_page(const struct adsm_copies *pages, uint64_t address,
					  struct adsm_store_way **ret_oldest)
{
	const uint64_t tag = address & pages->store.tag_mask;
	struct adsm_store_way *set = set_of(pages, address);

	*ret_oldest = set;
	for (uint32_t i = 0; i < pages->n_ways; i++) {
		if (set[i].tag == tag)
			return &set[i];
		if (set[i].used < (*ret_oldest)->used)
			*ret_oldest = &set[i];
	}
	return NULL;
}

/* ---- how much would be moved with smaller pages */

/* Sum of the bytes of those parts, each of @size bytes, that contain any of the blocks. */
static uint64_t bytes_with(const struct adsm_copies *pages, uint64_t blocks, uint32_t size)
{
	const uint32_t n = ADSM_COPIES_BLOCKS * size / pages->page;
	uint64_t parts = 0;

	if (n >= ADSM_COPIES_BLOCKS)
		return blocks ? pages->page : 0;
	for (uint32_t first = 0; first < ADSM_COPIES_BLOCKS; first += n)
		parts += (blocks >> first & (((uint64_t)1 << n) - 1)) != 0;
	return parts * size;
}

static void count_moved(struct adsm_copies *pages, uint64_t blocks)
{
	const uint32_t page = pages->page;

	for (uint32_t i = 0, size = ADSM_SCRATCHPAD_MIN_PAGE; pages->counted && size <= page; i++, size *= 2)
		pages->counts.moved[i] += size < page ? bytes_with(pages, blocks, size) : size;
}

static uint64_t blocks_of(const struct adsm_copies *pages, uint64_t address, uint64_t size)
{
	const uint32_t shift = pages->page_shift;
	const uint64_t offset = address & (pages->page - 1);
	const uint64_t first = offset * ADSM_COPIES_BLOCKS >> shift;
	const uint64_t last = (offset + size - 1) * ADSM_COPIES_BLOCKS >> shift;

	return (~(uint64_t)0 >> (63 - (last - first))) << first;
}

/* ---- sending, and giving up */

/* Returns false if the page is not dirty. */
static bool send(struct adsm_copies *pages, struct adsm_store_way *way, bool keep)
{
	const uint32_t i = number_of(pages, way);
	struct adsm_copies_slot *slot = &pages->slots[i];

	if (!pages->dirty[i])
		return false;
	slot->write = pages->below->send(pages, way->tag, bytes_of(way), slot->twin, keep);
	way->dirty = slot->write ? &pages->dirty[i] : NULL;
	pages->dirty[i] = 0;
	count_moved(pages, slot->written);
	slot->written = 0;
	return true;
}

/* Remove the page from the cache. */
static void forget(struct adsm_copies *pages, struct adsm_store_way *way)
{
	struct adsm_copies_slot *slot = &pages->slots[number_of(pages, way)];
	uint8_t *bytes = bytes_of(way);

	count_moved(pages, slot->touched);
	*slot = (struct adsm_copies_slot){ .twin = slot->twin };
	way->tag = ADSM_STORE_NO_LINE;
	way->bias = (uint64_t)(uintptr_t)bytes - way->tag;
	way->used = 0;
	way->dirty = NULL;
}

/* Send the page if it is dirty, count that, and remove it. */
static void drop(struct adsm_copies *pages, struct adsm_store_way *way, uint64_t *n_sent)
{
	if (send(pages, way, false))
		++*n_sent;
	else
		pages->below->drop(pages, way->tag);
	forget(pages, way);
}

/* For each page in the cache. */
#define EACH_PAGE(pages, way) \
	for (struct adsm_store_way *way = (pages)->ways; \
	     way < (pages)->ways + (size_t)(pages)->n_sets * ADSM_STORE_INLINE_WAYS; way++) \
		if (way->tag != ADSM_STORE_NO_LINE)

void adsm_copies_release(struct adsm_copies *pages)
{
	EACH_PAGE(pages, way)
		if (send(pages, way, true))
			pages->counts.sent_on_sync++;
}

void adsm_copies_acquire(struct adsm_copies *pages)
{
	EACH_PAGE(pages, way) {
		if (!pages->below->is_old(pages, way->tag, &pages->slots[number_of(pages, way)]))
			continue;
		pages->counts.given_up++;
		drop(pages, way, &pages->counts.sent_on_sync);
	}
}

void adsm_copies_give_up(struct adsm_copies *pages, uint64_t page)
{
	struct adsm_store_way *oldest, *way = lookup_page(pages, page, &oldest);

	if (!way)
		return;
	pages->counts.given_up++;
	if (send(pages, way, false))
		pages->counts.sent_on_sync++;
	if (pages->counted)
		pages->below->gave_up(pages, page, bytes_of(way), pages->slots[number_of(pages, way)].touched);
	forget(pages, way);
}

void adsm_copies_flush_all(struct adsm_copies *pages)
{
	EACH_PAGE(pages, way)
		drop(pages, way, &pages->counts.sent_on_sync);
}

void adsm_copies_flush(struct adsm_copies *pages, uint64_t address, uint64_t size)
{
	struct adsm_store_way *way, *oldest;

	if (!size)
		adsm_copies_flush_all(pages);
	for (uint64_t page = address & pages->store.tag_mask; page - address < size || page <= address;
	     page += pages->page) {
		way = lookup_page(pages, page, &oldest);
		if (way)
			drop(pages, way, &pages->counts.sent_on_sync);
	}
}

/* ---- accesses */

/* The page may be written from now on. */
static void make_writable(struct adsm_copies *pages, struct adsm_store_way *way)
{
	const uint32_t i = number_of(pages, way);

	pages->slots[i].write = true;
	way->dirty = &pages->dirty[i];
}

/* Replace the contents of a way. */
static void miss(struct adsm_copies *pages, struct adsm_store_way *way, uint64_t address, bool write)
{
	const uint64_t tag = address & pages->store.tag_mask;
	uint8_t *bytes = bytes_of(way);
	struct adsm_copies_slot *slot = &pages->slots[number_of(pages, way)];

	if (way->tag != ADSM_STORE_NO_LINE)
		drop(pages, way, &pages->counts.sent_on_miss);
	slot->since = pages->below->fetch(pages, tag, bytes, slot->twin, write);
	way->tag = tag;
	way->bias = (uint64_t)(uintptr_t)bytes - tag;
	if (write)
		make_writable(pages, way);
}

/* An access to bytes of one page. Returns their address in the local store. */
static uint8_t *use(struct adsm_copies *pages, uint64_t address, uint64_t size, bool write)
{
	struct adsm_store_way *oldest, *way = lookup_page(pages, address, &oldest);
	struct adsm_copies_slot *slot;

	if ((!way || write) && !pages->below->may(pages, address, write ? size : 1, write))
		pages->wrong(address, write ? "a store" : "a load");
	if (!way) {
		way = oldest;
		miss(pages, way, address, write);
		if (write)
			pages->counts.write_misses++;
		else
			pages->counts.read_misses++;
	} else if (write && !pages->slots[number_of(pages, way)].write) {
		pages->counts.upgrades++;
	}
	slot = &pages->slots[number_of(pages, way)];
	if (write && !slot->write) {
		pages->below->own(pages, way->tag, bytes_of(way), slot->twin);
		make_writable(pages, way);
	}
	if (write)
		pages->dirty[number_of(pages, way)] = 1;
	if (pages->counted) {
		*(write ? &pages->counts.writes : &pages->counts.reads) += 1;
		slot->touched |= blocks_of(pages, address, size);
		slot->written |= write ? blocks_of(pages, address, size) : 0;
	}
	way->used = ++pages->store.clock;
	return (uint8_t *)(uintptr_t)(address + way->bias);
}

/* The number of bytes from @address on, at most @size, that are in one page. */
static uint64_t in_page(const struct adsm_copies *pages, uint64_t address, uint64_t size)
{
	const uint64_t left = pages->page - (address & ~pages->store.tag_mask);

	return size < left ? size : left;
}

static void pages_read(struct adsm_store *store, uint64_t address, void *to, uint64_t size)
{
	uint8_t *bytes = to;

	for (uint64_t n; size; address += n, bytes += n, size -= n) {
		n = in_page(pages_of(store), address, size);
		memcpy(bytes, use(pages_of(store), address, n, false), n);
	}
}

static void pages_write(struct adsm_store *store, uint64_t address, const void *from, uint64_t size)
{
	const uint8_t *bytes = from;

	for (uint64_t n; size; address += n, bytes += n, size -= n) {
		n = in_page(pages_of(store), address, size);
		memcpy(use(pages_of(store), address, n, true), bytes, n);
	}
}

static void *pages_local(struct adsm_store *store, uint64_t address)
{
	return use(pages_of(store), address, 1, false);
}

static void pages_fence(struct adsm_store *store)
{
	adsm_copies_flush_all(pages_of(store));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Access the memory itself; the cache gives up its copies of these bytes. */
static uint8_t *reach(struct adsm_copies *pages, uint64_t address, uint64_t size, bool write)
{
	uint8_t *bytes = pages->below->reach(pages, address, size, write);

	if (!bytes)
		pages->wrong(address, write ? "a store" : "a load");
	pages->counts.direct++;
	adsm_copies_flush(pages, address, size);
	return bytes;
}

static void note(struct adsm_copies *pages, uint64_t address, uint64_t size)
{
	const uint64_t n = in_page(pages, address, size);

	pages->below->note(pages, address, blocks_of(pages, address, n));
	if (n < size)
		pages->below->note(pages, address + n, 1);
}

static uint64_t pages_atomic(struct adsm_store *store, uint64_t op, uint64_t address, uint64_t size, uint64_t value)
{
	struct adsm_copies *pages = pages_of(store);
	uint64_t result;

	if (!adsm_direct_may(op, address, size))
		pages->wrong(address, ADSM_DIRECT_UNALIGNED);
	result = adsm_direct_operate(op, reach(pages, address, size, op != ADSM_STORE_LOAD), size, value);
	if (op != ADSM_STORE_LOAD)
		note(pages, address, size);
	return result;
}

static uint64_t pages_exchange(struct adsm_store *store, uint64_t address, uint64_t size, uint64_t expected,
			       uint64_t value)
{
	struct adsm_copies *pages = pages_of(store);
	uint64_t result;

	if (address % size)
		pages->wrong(address, ADSM_DIRECT_UNALIGNED);
	result = adsm_direct_swap(reach(pages, address, size, true), size, expected, value);
	note(pages, address, size);
	return result;
}

/* ---- initialization */

static void init_ways(struct adsm_copies *pages)
{
	uint32_t i = 0;

	for (uint32_t k = 0; k < (pages->n_sets + 1) * ADSM_STORE_INLINE_WAYS; k++) {
		struct adsm_store_way *way = &pages->ways[k];

		*way = (struct adsm_store_way){ .tag = ADSM_STORE_NO_LINE };
		if (k % ADSM_STORE_INLINE_WAYS >= pages->n_ways || i == pages->n_pages)
			continue;
		way->bias = (uint64_t)(uintptr_t)(pages->bytes + (uint64_t)i * pages->page) - way->tag;
		i++;
	}
}

int adsm_copies_init(struct adsm_copies *pages, const struct adsm_scratchpad_layout *layout, uint32_t page,
		     const struct adsm_copies_below *below, void *arg, uint32_t worker,
		     void (*wrong)(uint64_t address, const char *what))
{
	uint8_t *parts = (uint8_t *)pages + layout->control, *twins;
	const uint32_t n = (uint32_t)(layout->lines / page);

	*pages = (struct adsm_copies) {
		.below = below, .arg = arg, .worker = worker, .wrong = wrong,
		.page = page, .page_shift = (uint32_t)__builtin_ctz(page),
		.n_pages = n, .n_ways = n < ADSM_STORE_INLINE_WAYS ? n : ADSM_STORE_INLINE_WAYS,
		.n_sets = n < ADSM_STORE_INLINE_WAYS ? 1 : n / ADSM_STORE_INLINE_WAYS,
		.ways = (struct adsm_store_way *)parts, .dirty = (uint64_t *)(parts + layout->tags),
		.bytes = parts + layout->tags + layout->dirty,
	};
	pages->none = pages->ways + (size_t)pages->n_sets * ADSM_STORE_INLINE_WAYS;
	assert((uint64_t *)(pages->none + ADSM_STORE_INLINE_WAYS) <= pages->dirty);
	pages->slots = calloc(n, sizeof(*pages->slots) + (below->twins ? page : 0));
	if (!pages->slots)
		return -ENOMEM;
	twins = (uint8_t *)(pages->slots + n);
	for (uint32_t i = 0; below->twins && i < n; i++)
		pages->slots[i].twin = twins + (uint64_t)i * page;
	pages->store = (struct adsm_store) {
		.tag_mask = ~(uint64_t)(page - 1),
		.set_scale = (ADSM_STORE_INLINE_WAYS * sizeof(struct adsm_store_way) << 8) >> pages->page_shift,
		.dirty_shift = pages->page_shift,
		.dirty_ones = { 1, 1, 1, 1, 1 },
		.get = adsm_store_get, .put = adsm_store_put, .read = pages_read, .write = pages_write,
		.move = adsm_store_move, .fill = adsm_store_fill, .fence = pages_fence,
		.atomic = pages_atomic, .exchange = pages_exchange, .local = pages_local,
	};
	return 0;
}

void adsm_copies_begin(struct adsm_copies *pages, bool counted)
{
	struct adsm_store *store = &pages->store;

	init_ways(pages);
	memset(pages->dirty, 0, pages->n_pages * sizeof(*pages->dirty));
	for (uint32_t i = 0; i < pages->n_pages; i++)
		pages->slots[i] = (struct adsm_copies_slot){ .twin = pages->slots[i].twin };
	pages->counts = (struct adsm_copies_counts){ 0 };
	pages->counted = counted;
	store->ways = counted ? pages->none : pages->ways;
	store->set_mask = counted ? 0 : (uint64_t)(pages->n_sets - 1) << pages->page_shift;
	store->clock = 0;
	/* There is never a last page: so a page can be given up without checking for it. */
	store->last[ADSM_STORE_GET].tag = store->last[ADSM_STORE_PUT].tag = ADSM_STORE_NO_LINE;
	store->counted = ~(uint64_t)0;
}

/* ---- cores */

static int make_core(struct adsm_copies_cores *cores)
{
	struct adsm_core *core = &cores->of[cores->n];
	int ret = adsm_core_reserve(&cores->layout, core);

	if (ret)
		return ret;
	ret = adsm_copies_init(core->window, &cores->layout, cores->page, cores->below, cores->arg, cores->n,
			       cores->wrong);
	if (ret) {
		adsm_core_destroy(core);
		return ret;
	}
	((struct adsm_copies *)core->window)->store.services = cores->services;
	cores->n++;
	return 0;
}

int adsm_copies_make(struct adsm_copies_cores *cores, uint32_t n)
{
	const uint32_t n_before = cores->n;
	int ret = 0;

	while (cores->n < n && !ret)
		ret = make_core(cores);
	/* The process needs memory for other things, too. */
	while (ret && cores->n > n_before) {
		struct adsm_core *core = &cores->of[--cores->n];

		free(((struct adsm_copies *)core->window)->slots);
		adsm_core_destroy(core);
	}
	return ret;
}

struct adsm_copies_counts adsm_copies_sum(const struct adsm_copies_cores *cores, uint32_t n)
{
	struct adsm_copies_counts sum = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t *counts = (const uint64_t *)&((struct adsm_copies *)cores->of[i].window)->counts;

		for (size_t k = 0; k < sizeof(sum) / sizeof(*counts); k++)
			((uint64_t *)&sum)[k] += counts[k];
	}
	return sum;
}
