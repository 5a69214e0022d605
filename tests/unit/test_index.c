/* SPDX-License-Identifier: MIT */
/* test_index.c - from address to object: against a plain list, at every kind of boundary, while it changes. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "../check.h"
#include "core/index.h"
#include "base/os.h"

#define PAGE ADSM_PAGE_SIZE
#define CHUNK ((size_t)2 << 20)
#define BASE ((uintptr_t)0x7e8000000000)
#define TOP ((uintptr_t)1 << 47)

/* An index never looks into what it holds. */
static struct adsm_object *object(uintptr_t n)
{
	return (struct adsm_object *)(n * 64);
}

static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

/* In, found from its first byte to its last and nowhere else, out. */
static void one(uintptr_t start, size_t size)
{
	uintptr_t end = start + size;

	CHECK(!adsm_index_insert(start, size, object(1)));
	for (uintptr_t a = start; a < end; a += PAGE) {
		CHECK(adsm_index_find(a) == object(1));
		CHECK(adsm_index_find(a + 1) == object(1));
		CHECK(adsm_index_find(a + PAGE - 1) == object(1));
	}
	CHECK(!adsm_index_find(start - 1));
	CHECK(!adsm_index_find(start - PAGE));
	CHECK(!adsm_index_find(end));
	CHECK(!adsm_index_find(end + PAGE));
	adsm_index_remove(start, size);
	for (uintptr_t a = start; a < end; a += PAGE)
		CHECK(!adsm_index_find(a) && !adsm_index_find(a + PAGE - 1));
}

static void boundaries(void)
{
	static const size_t offsets[] = { 0, PAGE, CHUNK / 2, CHUNK - PAGE };
	static const size_t sizes[] = { PAGE, 2 * PAGE, CHUNK - PAGE, CHUNK, CHUNK + PAGE, 2 * CHUNK,
					3 * CHUNK + PAGE };
	uintptr_t base = BASE + ((size_t)1 << 30);

	/* Fresh chunks each time, then the same ones again, whose leaves stay. */
	for (int again = 0; again < 2; again++)
		for (size_t o = 0; o < 4; o++)
			for (size_t s = 0; s < 7; s++)
				one(base + (o * 7 + s) * 8 * CHUNK + offsets[o], sizes[s]);
	for (size_t o = 0; o < 4; o++)
		for (size_t s = 0; s < 7; s++)
			one(base + offsets[o], sizes[s]);
	/* Every address of a process has an answer. */
	CHECK(!adsm_index_find(0) && !adsm_index_find(PAGE) && !adsm_index_find(TOP - 1));
	CHECK(!adsm_index_find(TOP) && !adsm_index_find(UINTPTR_MAX));
	CHECK(!adsm_index_insert(TOP - CHUNK, CHUNK, object(2)));
	CHECK(adsm_index_find(TOP - 1) == object(2) && !adsm_index_find(TOP - CHUNK - 1));
	adsm_index_remove(TOP - CHUNK, CHUNK);
	CHECK(!adsm_index_find(TOP - 1));
}

#define MODEL_PAGES 4096u		/* eight chunks */

/* Which object each page belongs to; random ranges come and go. */
static void random_ranges(uint64_t seed)
{
	unsigned short model[MODEL_PAGES] = { 0 };
	struct { unsigned first, n; } ranges[256] = { 0 };

	for (unsigned round = 0; round < 4000; round++) {
		unsigned id = (unsigned)(draw(&seed) % 255) + 1;
		unsigned first = (unsigned)(draw(&seed) % MODEL_PAGES), n = 1;
		bool fits = true;

		if (ranges[id].n) {
			adsm_index_remove(BASE + ranges[id].first * PAGE, ranges[id].n * PAGE);
			for (unsigned p = 0; p < ranges[id].n; p++)
				model[ranges[id].first + p] = 0;
			ranges[id].n = 0;
		} else {
			switch (draw(&seed) % 4) {
			case 0: n = (unsigned)(draw(&seed) % 8) + 1; break;
			case 1: n = (unsigned)(draw(&seed) % 700) + 1; break;
			case 2: first &= ~511u; n = 512; break;
			case 3: first &= ~511u; n = 512 * (unsigned)(draw(&seed) % 3 + 1); break;
			}
			if (n > MODEL_PAGES - first)
				n = MODEL_PAGES - first;
			for (unsigned p = 0; p < n; p++)
				fits &= !model[first + p];
			if (!fits)
				continue;
			CHECK(!adsm_index_insert(BASE + first * PAGE, n * PAGE, object(id)));
			for (unsigned p = 0; p < n; p++)
				model[first + p] = (unsigned short)id;
			ranges[id].first = first;
			ranges[id].n = n;
		}
		if (round % 40 == 0)
			for (unsigned p = 0; p < MODEL_PAGES; p++)
				CHECK(adsm_index_find(BASE + p * PAGE + draw(&seed) % PAGE) == object(model[p]));
	}
	for (unsigned id = 1; id < 256; id++)
		if (ranges[id].n)
			adsm_index_remove(BASE + ranges[id].first * PAGE, ranges[id].n * PAGE);
}

/* Some objects stay, others come and go around them: finders see the first always, the others whole or not. */
static atomic_bool stop;

static void *find_thread(void *data)
{
	uint64_t seed = (uintptr_t)data;

	while (!stop) {
		uint64_t n = draw(&seed) % 64;
		uintptr_t stays = BASE + 2 * n * CHUNK, goes = stays + 64 * PAGE;
		struct adsm_object *found;

		CHECK(adsm_index_find(stays + draw(&seed) % (64 * PAGE)) == object(n + 1));
		found = adsm_index_find(goes + draw(&seed) % (2 * CHUNK - 64 * PAGE));
		CHECK(!found || found == object(n + 1001));
	}
	return NULL;
}

static void while_it_changes(void)
{
	pthread_t threads[2];
	uint64_t seed = 5;

	for (uintptr_t n = 0; n < 64; n++)
		CHECK(!adsm_index_insert(BASE + 2 * n * CHUNK, 64 * PAGE, object(n + 1)));
	for (uintptr_t t = 0; t < 2; t++)
		CHECK(!pthread_create(&threads[t], NULL, find_thread, (void *)(t + 1)));
	for (unsigned round = 0; round < 3000; round++) {
		uint64_t n = draw(&seed) % 64;
		uintptr_t goes = BASE + 2 * n * CHUNK + 64 * PAGE;
		size_t size = (draw(&seed) % (2 * CHUNK / PAGE - 64) + 1) * PAGE;

		CHECK(!adsm_index_insert(goes, size, object(n + 1001)));
		CHECK(adsm_index_find(goes + size - 1) == object(n + 1001));
		adsm_index_remove(goes, size);
		CHECK(!adsm_index_find(goes) && !adsm_index_find(goes + size - 1));
	}
	stop = true;
	for (int t = 0; t < 2; t++)
		pthread_join(threads[t], NULL);
}

int main(void)
{
	CHECK(!adsm_index_find(BASE));	/* before there is one */
	CHECK(!adsm_index_init());
	CHECK(!adsm_index_init());	/* again: the same */
	boundaries();
	for (uint64_t seed = 1; seed <= 3; seed++)
		random_ranges(seed);
	while_it_changes();
	return 0;
}
