/* SPDX-License-Identifier: MIT */
/*
 * world.h - the nodes of a cluster, their workers' caches, and a network between them that keeps no order: all in one
 * process, over the protocol's own functions. The including file defines the sizes: NODES and WORKERS (of a node) at
 * most, PAGES, PAGE_SIZE, LOCKS, PACKETS (that may be under way); FLAGS,
 * if it uses flags; and PARTS, if workers copy parts of pages, as n_parts says.
 */
#ifndef TEST_HCRC_WORLD_H
#define TEST_HCRC_WORLD_H

#include "../../check.h"
#include "cluster/node/hcrc/hcrc.h"
#include "process/device/diff.h"

#include <stdlib.h>

#ifndef PARTS
#define PARTS 1
#endif
#ifndef FLAGS
#define FLAGS 0
#endif
#define LINE_BYTES (ADSM_DIFF_MAX(PAGE_SIZE) > PAGES * 4 ? ADSM_DIFF_MAX(PAGE_SIZE) : PAGES * 4)

struct packet {
	struct adsm_hcrc_message message;
	uint8_t bytes[LINE_BYTES];
};

struct line {				/* of a worker's cache */
	uint8_t has, dirty;
	uint8_t bytes[PAGE_SIZE];
};

enum waits { RUNS, WAITS_READ, WAITS_WRITE, WAITS_RELEASE, WAITS_GO, WOKEN, HAS_ENDED };

struct cache {
	uint8_t waits;			/* enum waits; WOKEN: it has to look for notices */
	uint8_t page;			/* that it waits for */
	struct line lines[PAGES * PARTS];
};

/* All of it that changes, but for what the nodes have in their state. */
static struct world {
	uint32_t n_packets;
	uint32_t n_ended;		/* nodes that were told so */
	int32_t status;			/* with which */
	struct cache caches[NODES][WORKERS];
	uint8_t memory[NODES][PAGES * PAGE_SIZE];
	struct packet packets[PACKETS];	/* by from, to and number */
} world;

static struct adsm_hcrc *nodes[NODES];
static uint32_t n_nodes;
static uint64_t n_sent[ADSM_HCRC_N_KINDS];	/* between nodes */
static bool locks_stay;				/* else as in the paper */
static uint32_t n_parts = 1;			/* of a page, which workers copy; at most PARTS */

static int compare_packets(const struct adsm_hcrc_message *a, const struct adsm_hcrc_message *b)
{
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return (int32_t)(a->number - b->number) < 0 ? -1 : 1;
}

static void on_send(void *arg, const struct adsm_hcrc_message *message, const void *bytes)
{
	uint32_t at = world.n_packets++;

	CHECK(world.n_packets <= PACKETS && message->size <= LINE_BYTES);
	for (; at > 0 && compare_packets(message, &world.packets[at - 1].message) < 0; at--)
		world.packets[at] = world.packets[at - 1];
	memset(&world.packets[at], 0, sizeof(world.packets[at]));
	world.packets[at].message = *message;
	if (message->size)
		memcpy(world.packets[at].bytes, bytes, message->size);
	if (message->from != message->to)
		n_sent[message->kind]++;
}

static void on_page(void *arg, uint32_t worker, uint32_t page, const uint8_t *bytes)
{
	struct cache *cache = &world.caches[(uintptr_t)arg][worker];
	struct line *line = &cache->lines[page];

	CHECK(cache->waits == WAITS_READ || cache->waits == WAITS_WRITE);
	CHECK_EQ(cache->page, page);
	CHECK(bytes || line->has);
	if (bytes)
		memcpy(line->bytes, bytes, PAGE_SIZE / n_parts);
	line->has = 1;
	line->dirty = cache->waits == WAITS_WRITE;
	cache->waits = RUNS;
}

static void on_go(void *arg, uint32_t worker)
{
	struct cache *cache = &world.caches[(uintptr_t)arg][worker];

	CHECK(cache->waits == WAITS_RELEASE || cache->waits == WAITS_GO);
	cache->waits = cache->waits == WAITS_GO ? WOKEN : RUNS;
}

static void on_ended(void *arg, int status)
{
	world.n_ended++;
	world.status = status;
}

/* @workers: of each node; @first: the bytes when the task begins. */
__attribute__((unused))
static void world_begin(uint32_t n, const uint8_t *workers, uint32_t n_frames, uint32_t n_open, uint32_t locality,
			const uint8_t *first)
{
	n_nodes = n;
	memset(&world, 0, sizeof(world));
	memset(n_sent, 0, sizeof(n_sent));
	if (first)
		memcpy(world.memory[ADSM_HCRC_MANAGER], first, sizeof(world.memory[0]));
	for (uint32_t i = 0; i < n; i++) {
		struct adsm_hcrc_config config = {
			.self = i, .n_nodes = n, .n_pages = PAGES, .page_size = PAGE_SIZE,
			.part_size = PAGE_SIZE / n_parts, .n_frames = n_frames,
			.n_open = n_open, .n_locks = LOCKS, .n_flags = FLAGS, .locality = locality,
			.locks_stay = locks_stay,
			.memory = world.memory[i],
			.arg = (void *)(uintptr_t)i, .send = on_send, .page = on_page, .go = on_go,
			.ended = on_ended };
		size_t size;
		void *memory;

		memcpy(config.workers, workers, n);
		size = adsm_hcrc_size(&config);
		CHECK(size);
		free(nodes[i]);
		memory = aligned_alloc(64, size);
		CHECK(memory);
		memset(memory, 0, size);
		nodes[i] = adsm_hcrc_init(memory, &config);
	}
}

__attribute__((unused))
static void world_end(void)
{
	for (uint32_t i = 0; i < NODES; i++) {
		free(nodes[i]);
		nodes[i] = NULL;
	}
}

/* Offer a packet; whether it was taken. */
__attribute__((unused))
static int world_deliver(uint32_t i)
{
	const struct packet packet = world.packets[i];
	const int ret = adsm_hcrc_receive(nodes[packet.message.to], &packet.message, packet.bytes);

	if (ret)
		return ret;
	/* Others may have come in before it. */
	for (i = 0; compare_packets(&world.packets[i].message, &packet.message) < 0; )
		i++;
	world.n_packets--;
	memmove(&world.packets[i], &world.packets[i + 1], (world.n_packets - i) * sizeof(packet));
	memset(&world.packets[world.n_packets], 0, sizeof(packet));
	return 0;
}

/* ---- workers */

__attribute__((unused))
static void ask_read(uint32_t node, uint32_t worker, uint32_t page)
{
	world.caches[node][worker].waits = WAITS_READ;
	world.caches[node][worker].page = (uint8_t)page;
	adsm_hcrc_read(nodes[node], worker, page);
}

__attribute__((unused))
static void ask_write(uint32_t node, uint32_t worker, uint32_t page)
{
	world.caches[node][worker].waits = WAITS_WRITE;
	world.caches[node][worker].page = (uint8_t)page;
	adsm_hcrc_write(nodes[node], worker, page, world.caches[node][worker].lines[page].has);
}

/* A page that it has. */
__attribute__((unused))
static void put(uint32_t node, uint32_t worker, uint32_t page, bool keep)
{
	struct line *line = &world.caches[node][worker].lines[page];

	if (line->dirty)
		adsm_hcrc_put(nodes[node], worker, page, line->bytes, keep);
	else if (!keep)
		adsm_hcrc_drop(nodes[node], worker, page);
	line->dirty = 0;
	if (!keep)
		memset(line, 0, sizeof(*line));
}

__attribute__((unused))
static void put_all(uint32_t node, uint32_t worker)
{
	for (uint32_t page = 0; page < PAGES * n_parts; page++)
		if (world.caches[node][worker].lines[page].dirty)
			put(node, worker, page, true);
}

/* What a worker has to do after a lock or a barrier before it continues. */
__attribute__((unused))
static void take_notices(uint32_t node, uint32_t worker)
{
	struct cache *cache = &world.caches[node][worker];

	CHECK_EQ(cache->waits, WOKEN);
	for (uint32_t page; (page = adsm_hcrc_notice(nodes[node], worker)) != ADSM_HCRC_NONE; ) {
		if (cache->lines[page].dirty)
			adsm_hcrc_put(nodes[node], worker, page, cache->lines[page].bytes, false);
		memset(&cache->lines[page], 0, sizeof(cache->lines[page]));
	}
	cache->waits = RUNS;
}

__attribute__((unused))
static void acquire(uint32_t node, uint32_t worker, uint32_t lock)
{
	world.caches[node][worker].waits = WAITS_GO;
	CHECK_OK(adsm_hcrc_acquire(nodes[node], worker, lock));
}

__attribute__((unused))
static void release(uint32_t node, uint32_t worker, uint32_t lock)
{
	put_all(node, worker);
	world.caches[node][worker].waits = WAITS_RELEASE;
	CHECK_OK(adsm_hcrc_release(nodes[node], worker, lock));
}

/* @kind: as for adsm_hcrc_flag(). */
__attribute__((unused))
static void use_flag(uint32_t node, uint32_t worker, uint8_t kind, uint32_t flag)
{
	if (kind == ADSM_HCRC_FLAG_SET)
		put_all(node, worker);
	world.caches[node][worker].waits = kind == ADSM_HCRC_FLAG_AWAIT ? WAITS_GO : WAITS_RELEASE;
	CHECK_OK(adsm_hcrc_flag(nodes[node], worker, kind, flag));
}

__attribute__((unused))
static void barrier(uint32_t node, uint32_t worker)
{
	put_all(node, worker);
	world.caches[node][worker].waits = WAITS_GO;
	adsm_hcrc_barrier(nodes[node], worker);
}

__attribute__((unused))
static void end(uint32_t node, uint32_t worker)
{
	put_all(node, worker);
	world.caches[node][worker].waits = HAS_ENDED;
	CHECK_OK(adsm_hcrc_end(nodes[node], worker));
}

#endif
