/* SPDX-License-Identifier: MIT */
/*
 * test_cache.c - the software cache of a core, against a plain array and a model of what a cache of its geometry has:
 * every byte, every miss, every byte written back. Kernels are functions of this program, which run on cores' stacks.
 */
#define ADSM_SCRATCHPAD_		/* what is put into kernels */
#define ADSM_STORE_INLINE_ static inline
#include "adsm_scratchpad.h"
#include "store/core.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../check.h"

#define SIZE ((uint64_t)256 << 10)	/* of device memory, in most cases */
#define BASE UINT64_C(0x7e8000000000)	/* its address, at which nothing is mapped */

static struct adsm_cache_memory memory = { .base = BASE, .size = SIZE };
static struct adsm_core core;
static bool counted;			/* its accesses are */
static struct adsm_scratchpad_layout layout;

static void on_wrong(struct adsm_cache *cache, uint64_t address, const char *what)
{
	FAIL("%s at %llx", what, (unsigned long long)address);
}

static uint8_t *map(uint64_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void create(const struct adsm_scratchpad_geometry *geometry, struct adsm_core *ret_core)
{
	char text[512];

	CHECKF(adsm_scratchpad_lay_out(geometry, &layout, text, sizeof(text)), "%s", text);
	CHECK_OK(adsm_core_create(geometry, &layout, &memory, on_wrong, ret_core));
}

/* ---- the model */

static struct model {
	struct adsm_scratchpad_geometry geometry;
	struct { uint64_t tag, used; } *ways;
	uint8_t *bytes;			/* what each byte must be */
	uint8_t *dirty;			/* by byte: since its line came */
	uint64_t clock, misses, bytes_out, direct;
} model;

static void model_start(const struct adsm_scratchpad_geometry *geometry)
{
	const uint64_t n = (uint64_t)geometry->sets * geometry->ways;

	model = (struct model){ .geometry = *geometry };
	model.ways = calloc(n, sizeof(*model.ways));
	model.bytes = calloc(1, SIZE);
	model.dirty = calloc(1, SIZE);
	CHECK(model.ways && model.bytes && model.dirty);
	for (uint64_t i = 0; i < n; i++)
		model.ways[i].tag = UINT64_MAX;
}

static void model_give_up(uint64_t i)
{
	const uint32_t line = model.geometry.line, dirty = model.geometry.dirty;
	uint8_t *bytes = model.dirty + model.ways[i].tag;

	if (model.ways[i].tag == UINT64_MAX)
		return;
	for (uint32_t k = 0; k < line; k += dirty)
		model.bytes_out += memchr(bytes + k, 1, dirty) ? dirty : 0;
	memset(bytes, 0, line);
	model.ways[i].tag = UINT64_MAX;
	model.ways[i].used = 0;
}

static uint64_t model_find(uint64_t offset, uint64_t *ret_oldest)
{
	const struct adsm_scratchpad_geometry *g = &model.geometry;
	const uint64_t tag = offset / g->line * g->line, set = offset / g->line % g->sets * g->ways;

	*ret_oldest = set;
	for (uint64_t i = set; i < set + g->ways; i++) {
		if (model.ways[i].tag == tag)
			return i;
		if (model.ways[i].used < model.ways[*ret_oldest].used)
			*ret_oldest = i;
	}
	return UINT64_MAX;
}

static void model_touch(uint64_t offset, uint64_t size)
{
	const uint32_t line = model.geometry.line;

	for (uint64_t at = offset; at < offset + size; at = (at / line + 1) * line) {
		uint64_t oldest, i = model_find(at, &oldest);

		if (i == UINT64_MAX) {
			i = oldest;
			model_give_up(i);
			model.misses++;
			model.ways[i].tag = at / line * line;
		}
		model.ways[i].used = ++model.clock;
	}
}

static void model_drop(uint64_t offset)
{
	uint64_t oldest, i = model_find(offset, &oldest);

	model.direct++;
	if (i != UINT64_MAX)
		model_give_up(i);
}

static void model_flush(void)
{
	for (uint64_t i = 0; i < (uint64_t)model.geometry.sets * model.geometry.ways; i++)
		model_give_up(i);
}

/* ---- random accesses */

static uint64_t seed;

static uint64_t next(void)
{
	uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* An offset for @size bytes: near the last one, in a few places that are hot, or anywhere. */
static uint64_t offset_for(uint64_t size)
{
	static uint64_t last;
	const uint64_t how = next() % 16;

	if (how < 8)
		last += size;
	else if (how < 13)
		last = next() % 48 * 4999 + next() % 64;
	else
		last = next();
	last %= SIZE - size;
	/* Most are aligned. */
	if (next() % 8)
		last -= last % (size & -size);
	return last;
}

static void check_bytes(const void *got, uint64_t offset, uint64_t size)
{
	for (uint64_t i = 0; i < size; i++)
		CHECK_AT(((const uint8_t *)got)[i], offset + i, model.bytes[offset + i]);
}

static void access_sized(uint64_t size, bool write)
{
	const uint64_t offset = offset_for(size), address = BASE + offset;
	uint64_t value = next();

	model_touch(offset, size);
	if (write) {
		memcpy(model.bytes + offset, &value, size);
		memset(model.dirty + offset, 1, size);
	}
	switch (size) {
	case 1: write ? adsm_store_put_1(address, &value) : adsm_store_get_1(address, &value); break;
	case 2: write ? adsm_store_put_2(address, &value) : adsm_store_get_2(address, &value); break;
	case 4: write ? adsm_store_put_4(address, &value) : adsm_store_get_4(address, &value); break;
	default: write ? adsm_store_put_8(address, &value) : adsm_store_get_8(address, &value); break;
	}
	if (!write)
		check_bytes(&value, offset, size);
}

static void access_bytes(void)
{
	static uint8_t bytes[300];
	const uint64_t size = 1 + next() % sizeof(bytes), offset = offset_for(size), how = next() % 3;

	model_touch(offset, size);
	if (how == 0) {
		adsm_store_read(BASE + offset, bytes, size);
		check_bytes(bytes, offset, size);
		return;
	}
	for (uint64_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)next();
	adsm_store_write(BASE + offset, bytes, size);
	memcpy(model.bytes + offset, bytes, size);
	memset(model.dirty + offset, 1, size);
}

/* Their lines come in an order of the cache's own, so here only bytes are compared: all are empty before and after. */
static void move_and_fill(void)
{
	const uint64_t size = next() % 500, to = offset_for(501), byte = next() % 256;
	const uint64_t from = next() % 2 ? offset_for(501) : (to + next() % 90) % (SIZE - 501);

	adsm_store_fence();
	if (next() % 2) {
		adsm_store_move(BASE + to, BASE + from, size);
		memmove(model.bytes + to, model.bytes + from, size);
	} else {
		adsm_store_fill(BASE + to, byte, size);
		memset(model.bytes + to, (int)byte, size);
	}
	adsm_store_fence();
	CHECK(!memcmp(memory.bytes, model.bytes, SIZE));
	core.cache->counts.misses = model.misses;
	if (counted) {
		core.cache->store.clock = model.clock;
		adsm_cache_count(core.cache, true);
	}
	core.cache->counts.bytes_out = (model_flush(), model.bytes_out);
}

static void access_direct(void)
{
	/* Some of a line that has been fetched ahead, perhaps. */
	const uint64_t offset = (offset_for(4) + next() % 2 * model.geometry.line) % SIZE & ~(uint64_t)3;
	const uint64_t value = (uint32_t)next();
	uint32_t old, expected;

	memcpy(&old, model.bytes + offset, 4);
	model_drop(offset);
	if (next() % 2) {
		CHECK_EQ(adsm_store_atomic(ADSM_STORE_ADD, BASE + offset, 4, value), old);
		old += (uint32_t)value;
	} else {
		expected = next() % 2 ? old : old + 1;
		CHECK_EQ(adsm_store_exchange(BASE + offset, 4, expected, value), old);
		old = expected == old ? (uint32_t)value : old;
	}
	memcpy(model.bytes + offset, &old, 4);
	/* The memory itself has it immediately. */
	CHECK(!memcmp(memory.bytes + offset, &old, 4));
}

static void many_accesses(const struct adsm_kernel_block *block, const void *const *args)
{
	const uint64_t n = *(const uint64_t *)args[0];

	for (uint64_t i = 0; i < n; i++) {
		const uint64_t how = next() % 100000;

		if (how < 96000)
			access_sized((uint64_t)1 << how % 4, how & 4);
		else if (how < 99000)
			access_bytes();
		else if (how < 99970)
			access_direct();
		else
			move_and_fill();
	}
}

static void check_counts(void)
{
	const struct adsm_cache_counts *counts = &core.cache->counts;

	CHECK(counted ? core.cache->store.clock == model.clock : core.cache->store.clock < model.clock);
	CHECK_EQ(counts->misses, model.misses);
	CHECK_EQ(counts->bytes_out, model.bytes_out);
	CHECK_EQ(counts->direct, model.direct);
	if (!model.geometry.prefetch)
		CHECK_EQ(counts->bytes_in, counts->dma_in * model.geometry.line);
}

static void property(uint64_t n)
{
	static const struct adsm_scratchpad_geometry geometries[] = {
		{ (uint64_t)1 << 20, 0, 64, 4, 128, 1, 1 },
		{ (uint64_t)1 << 20, 0, 64, 4, 128, 1, 0 },
		{ (uint64_t)1 << 20, 0, 256, 1, 32, 1, 1 },
		{ (uint64_t)1 << 20, 0, 1, 8, 1024, 1, 1 },
		{ (uint64_t)1 << 20, 0, 4, 16, 16, 1, 1 },
		{ (uint64_t)1 << 20, 0, 16, 2, 256, 8, 0 },
	};

	memory.bytes = map(SIZE);
	for (size_t i = 0; i < sizeof(geometries) / sizeof(geometries[0]); i++) {
		const struct adsm_kernel_block block = { .grid = { 1, 1, 1 } };
		const void *args[] = { &n };

		seed = 42 + i;
		memset(memory.bytes, 0, SIZE);
		create(&geometries[i], &core);
		model_start(&geometries[i]);
		counted = i % 2;
		adsm_cache_count(core.cache, counted);
		adsm_core_run(&core, many_accesses, &block, args);
		adsm_cache_flush(core.cache);
		model_flush();
		CHECK(!memcmp(memory.bytes, model.bytes, SIZE));
		check_counts();
		adsm_core_destroy(&core);
		free(model.ways);
		free(model.bytes);
		free(model.dirty);
	}
	munmap(memory.bytes, SIZE);
}

/* ---- streams: what goes in and out, to the byte */

#define N ((uint64_t)4 << 20)		/* floats */

static void stream(const struct adsm_kernel_block *block, const void *const *args)
{
	const bool write = *(const bool *)args[0];

	for (uint64_t i = 0; i < N; i++) {
		float value;

		adsm_store_get_4(BASE + 4 * i, &value);
		CHECK(value == (float)(i & 1023));
		value *= 3;
		if (write)
			adsm_store_put_4(BASE + 4 * (N + i), &value);
	}
}

static void streams(bool full)
{
	const struct adsm_kernel_block block = { .grid = { 1, 1, 1 } };

	memory.size = 8 * N;
	memory.bytes = map(8 * N);
	for (uint64_t i = 0; i < N; i++)
		((float *)memory.bytes)[i] = (float)(i & 1023);
	for (int mode = full ? 0 : 1; mode < (full ? 4 : 3); mode++) {
		const bool write = mode & 1, ahead = mode & 2;
		const struct adsm_scratchpad_geometry g = { 256 << 10, 0, 64, 4, 128, 1, ahead };
		const void *args[] = { &write };
		const struct adsm_cache_counts *counts;

		create(&g, &core);
		adsm_cache_count(core.cache, true);
		adsm_core_run(&core, stream, &block, args);
		adsm_cache_flush(core.cache);
		counts = &core.cache->counts;
		CHECK_EQ(counts->misses, (write + 1) * N / 32);
		CHECK_EQ(core.cache->store.clock, (write + 1) * N);
		CHECK_EQ(counts->bytes_out, write * 4 * N);
		CHECK_EQ(counts->dma_out, write * N / 32);
		/* Not the first of a page, and not the second of all, because the first did not show that a second
		 * follows. */
		CHECK_EQ(counts->dma_in, (write + 1) * N / 32);
		CHECK_EQ(counts->ahead, ahead ? (write + 1) * (N / 32 - 8 * N / 8192 - 1) : 0);
		adsm_core_destroy(&core);
	}
	for (uint64_t i = 0; i < N; i++)
		CHECK(((float *)memory.bytes)[N + i] == 3 * (float)(i & 1023));
	munmap(memory.bytes, 8 * N);
	memory.size = SIZE;
}

/* ---- a line that the cache has is not fetched ahead: what is written to it would be missed later */

static uint8_t get(uint64_t line)
{
	uint8_t value;

	adsm_store_get_1(BASE + line * 16, &value);
	return value;
}

static void behind_own_line(const struct adsm_kernel_block *block, const void *const *args)
{
	const uint8_t value = 7;

	adsm_store_put_1(BASE + 2 * 16, &value);
	get(0);
	adsm_store_put_1(BASE + 2 * 16, &value);
	get(1);			/* instead of line 0; line 2 follows */
	get(100);
	get(200);
	CHECK_EQ(get(2), 7);
}

static void own_lines(void)
{
	const struct adsm_scratchpad_geometry g = { 256 << 10, 0, 1, 2, 16, 1, 1 };
	const struct adsm_kernel_block block = { .grid = { 1, 1, 1 } };

	memory.bytes = map(SIZE);
	create(&g, &core);
	adsm_core_run(&core, behind_own_line, &block, NULL);
	adsm_core_destroy(&core);
	munmap(memory.bytes, SIZE);
}

/* ---- loads and stores of one set in turns: none of them may hide that the other line was used after it */

static void use(uint64_t line, bool store)
{
	const uint8_t value = 7;

	if (store)
		adsm_store_put_1(BASE + line * 16, &value);
	else
		get(line);
}

static void turns_of(const struct adsm_kernel_block *block, const void *const *args)
{
	const bool store = *(const bool *)args[0];

	for (uint64_t line = 0; line < 4; line++)
		use(line, !store);
	use(0, store);
	use(1, !store);
	use(0, store);
	for (uint64_t line = 4; line < 7; line++)
		get(line);		/* instead of 2, 3 and 1 */
	get(0);
}

static void turns(void)
{
	const struct adsm_scratchpad_geometry g = { 256 << 10, 0, 1, 4, 16, 1, 0 };
	const struct adsm_kernel_block block = { .grid = { 1, 1, 1 } };

	memory.bytes = map(SIZE);
	for (int store = 0; store < 2; store++) {
		const bool how = store;
		const void *args[] = { &how };

		create(&g, &core);
		adsm_core_run(&core, turns_of, &block, args);
		CHECK_EQ(core.cache->counts.misses, 7);
		adsm_core_destroy(&core);
	}
	munmap(memory.bytes, SIZE);
}

/* ---- two cores write alternate bytes of the same lines */

#define ROUNDS 1000

static pthread_barrier_t both;

static void every_other(const struct adsm_kernel_block *block, const void *const *args)
{
	const uint8_t round = *(const uint8_t *)args[0];

	for (uint64_t i = block->index[0]; i < 4 * 128; i += 2) {
		const uint8_t value = (uint8_t)(round * 7 + i);

		adsm_store_put_1(BASE + i, &value);
	}
}

static void *alternate(void *arg)
{
	const struct adsm_scratchpad_geometry g = { 256 << 10, 0, 64, 4, 128, 1, 1 };
	const struct adsm_kernel_block block = { .grid = { 2, 1, 1 }, .index = { (uint32_t)(uintptr_t)arg } };
	struct adsm_core mine;
	char text[512];
	struct adsm_scratchpad_layout its;

	CHECK(adsm_scratchpad_lay_out(&g, &its, text, sizeof(text)));
	CHECK_OK(adsm_core_create(&g, &its, &memory, on_wrong, &mine));
	for (unsigned round = 0; round < ROUNDS; round++) {
		const uint8_t number = (uint8_t)round;
		const void *args[] = { &number };

		adsm_core_run(&mine, every_other, &block, args);
		/* Both have the lines, and write them back immediately. */
		pthread_barrier_wait(&both);
		adsm_cache_flush(mine.cache);
		pthread_barrier_wait(&both);
		for (unsigned i = 0; i < 4 * 128; i++)
			CHECK_AT(memory.bytes[i], i, (uint8_t)(round * 7 + i));
		pthread_barrier_wait(&both);
	}
	CHECK_EQ(mine.cache->counts.bytes_out, ROUNDS * 4 * 64);
	adsm_core_destroy(&mine);
	return NULL;
}

static void neighbours(void)
{
	pthread_t threads[2];

	memory.bytes = map(SIZE);
	CHECK(!pthread_barrier_init(&both, NULL, 2));
	for (uintptr_t i = 0; i < 2; i++)
		CHECK(!pthread_create(&threads[i], NULL, alternate, (void *)i));
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_join(threads[i], NULL));
	munmap(memory.bytes, SIZE);
}

/* ---- what fits into a store, and what not */

static void layouts(void)
{
	struct adsm_scratchpad_geometry g = { 256 << 10, 64 << 10, 64, 4, 128, 1, 1 };
	char text[512];

	CHECK(adsm_scratchpad_lay_out(&g, &layout, text, sizeof(text)));
	CHECK_EQ(layout.lines, 32 << 10);
	CHECK_EQ(layout.tags, 256 * 32);
	CHECK_EQ(layout.dirty, 256 * 16);
	CHECK(layout.stack % 4096 == 0 && layout.control + layout.tags + layout.dirty + layout.lines + layout.ahead +
	      layout.code + layout.stack <= g.size);
	g.size = 16 << 10;
	CHECK(!adsm_scratchpad_lay_out(&g, &layout, text, sizeof(text)));
	CHECKF(strstr(text, "16384") && strstr(text, "64 sets x 4 ways x 128 B: 32768 of lines") &&
	       strstr(text, "ADSM_SCRATCHPAD_SIZE"), "%s", text);
	g.sets = 8;
	g.code = 8192;
	CHECKF(!adsm_scratchpad_lay_out(&g, &layout, text, sizeof(text)), "stack of %d", (int)layout.stack);
	g.code = 0;
	CHECKF(adsm_scratchpad_lay_out(&g, &layout, text, sizeof(text)), "%s", text);
}

int main(void)
{
	const bool full = getenv("TEST_FULL");

	layouts();
	property(full ? 10000000 : 200000);
	streams(full);
	own_lines();
	turns();
	neighbours();
	return 0;
}
