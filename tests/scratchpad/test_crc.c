/* SPDX-License-Identifier: MIT */
/*
 * test_crc.c - pages that workers of a task share, without threads, locks or messages: the litmus tests of CRC, what is
 * counted by formulas, and random programs that keep to their locks, against one plain array. Accesses are those that
 * are put into kernels, and run on cores' stacks.
 */
#define ADSM_SCRATCHPAD_		/* what is put into kernels */
#define ADSM_STORE_INLINE_ static inline
#include "scratchpad/device/crc_copies.h"
#include "store/core.h"
#include "store/direct.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../check.h"

#define BASE UINT64_C(0x7e8000000000)	/* at which nothing is mapped */
#define SIZE ((uint64_t)512 << 10)
#define WORKERS 3

static struct adsm_crc crc;
static struct adsm_core cores[WORKERS];
static uint32_t page;			/* bytes */

static void on_wrong(uint64_t address, const char *what)
{
	FAIL("%s at %llx", what, (unsigned long long)address);
}

static struct adsm_copies *copies_of(unsigned worker)
{
	return cores[worker].window;
}

static const struct adsm_copies_counts *counts_of(unsigned worker)
{
	return &copies_of(worker)->counts;
}

/* Workers with room for that number of pages each; all bytes are 0. */
static void start(uint32_t page_size, uint32_t n_pages, bool counted)
{
	const struct adsm_scratchpad_geometry geometry = { .size = (uint64_t)1 << 20 };
	const struct adsm_scratchpad_task task = { page_size, n_pages };
	struct adsm_scratchpad_layout layout;
	char text[512];

	page = page_size;
	CHECKF(adsm_scratchpad_lay_out_task(&geometry, &task, &layout, text, sizeof(text)), "%s", text);
	adsm_crc_init(&crc, page);
	crc.spans[0] = (struct adsm_crc_span){ .begin = BASE, .end = BASE + SIZE };
	crc.spans[0].bytes = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(crc.spans[0].bytes != MAP_FAILED);
	CHECK_OK(adsm_crc_write_span(&crc, &crc.spans[0], counted));
	for (unsigned i = 0; i < WORKERS; i++) {
		CHECK_OK(adsm_core_reserve(&layout, &cores[i]));
		CHECK_OK(adsm_copies_init(copies_of(i), &layout, crc.page, &adsm_crc_copies, &crc, i, on_wrong));
		adsm_copies_begin(copies_of(i), counted);
	}
}

static void stop(void)
{
	for (unsigned i = 0; i < WORKERS; i++) {
		free(copies_of(i)->slots);
		adsm_core_destroy(&cores[i]);
	}
	munmap(crc.spans[0].bytes, SIZE);
	munmap(crc.spans[0].entries, SIZE / page * sizeof(*crc.spans[0].entries));
	if (crc.spans[0].blocks)
		munmap(crc.spans[0].blocks, SIZE / page * sizeof(*crc.spans[0].blocks));
}

/* ---- accesses, by the bytes of memory that they are of */

struct access { uint64_t address, size, value; bool write; };

static void in_core(struct access *access, const void *const *args)
{
	if (access->write) {
		switch (access->size) {
		case 1: adsm_store_put_1(access->address, &access->value); break;
		case 2: adsm_store_put_2(access->address, &access->value); break;
		case 4: adsm_store_put_4(access->address, &access->value); break;
		case 8: adsm_store_put_8(access->address, &access->value); break;
		default: adsm_store_write(access->address, &access->value, access->size);
		}
		return;
	}
	switch (access->size) {
	case 1: adsm_store_get_1(access->address, &access->value); break;
	case 2: adsm_store_get_2(access->address, &access->value); break;
	case 4: adsm_store_get_4(access->address, &access->value); break;
	case 8: adsm_store_get_8(access->address, &access->value); break;
	default: adsm_store_read(access->address, &access->value, access->size);
	}
}

static uint64_t do_access(unsigned worker, struct access access)
{
	adsm_core_call(&cores[worker], (void *)(uintptr_t)in_core, &access, NULL);
	return access.value;
}

static uint64_t get(unsigned worker, uint64_t at)
{
	return do_access(worker, (struct access){ .address = BASE + at, .size = 4 });
}

static void put(unsigned worker, uint64_t at, uint32_t value)
{
	do_access(worker, (struct access){ .address = BASE + at, .size = 4, .value = value, .write = true });
}

/* What main memory has. */
static uint32_t now(uint64_t at)
{
	uint32_t value;

	memcpy(&value, crc.spans[0].bytes + at, sizeof(value));
	return value;
}

static void acquire(unsigned worker)
{
	adsm_copies_acquire(copies_of(worker));
}

static void release(unsigned worker)
{
	adsm_copies_release(copies_of(worker));
}

/* ---- litmus tests */

/* Two workers write one page at the same time; neither takes the other's bytes for its own. */
static void two_writers(void)
{
	put(0, 0, 1);
	put(1, 4, 2);
	release(0);
	CHECK(now(0) == 1 && now(4) == 0);
	release(1);
	CHECK(now(0) == 1 && now(4) == 2);
	/* Each still has what it had, up to its next acquire. */
	CHECK(get(0, 4) == 0 && get(1, 0) == 0);
	acquire(0);
	acquire(1);
	CHECK(get(0, 4) == 2 && get(1, 0) == 1);
}

/* A worker that holds a page for reading writes to it after another worker has changed it: the twin is the worker's
 * copy. */
static void upgrade_of_stale(void)
{
	CHECK_EQ(get(0, 0), 0);
	put(1, 0, 5);
	release(1);
	put(0, 4, 6);
	release(0);
	CHECK(now(0) == 5 && now(4) == 6);
	CHECK_EQ(get(0, 0), 0);
	acquire(0);
	CHECK_EQ(get(0, 0), 5);
}

/* A page that is to be given up has what was not released: that is sent before. Two locks, one page. */
static void two_locks(void)
{
	acquire(0);			/* lock A */
	put(0, 0, 1);
	acquire(1);			/* lock B */
	put(1, 4, 2);
	release(1);
	acquire(0);			/* lock B */
	CHECK(now(0) == 1 && now(4) == 2);
	CHECK(get(0, 0) == 1 && get(0, 4) == 2);
	release(0);
	CHECK(now(0) == 1 && now(4) == 2);
}

/* After a release it may write on, without asking; what comes is held against what was sent. */
static void writes_on(void)
{
	put(0, 0, 1);
	release(0);
	put(1, 0, 2);
	put(1, 4, 3);
	release(1);
	put(0, 8, 4);
	release(0);
	CHECK(now(0) == 2 && now(4) == 3 && now(8) == 4);
	CHECK(counts_of(0)->write_misses == 1 && counts_of(0)->upgrades == 0 && counts_of(0)->sent_on_sync == 2);
	release(0);
	CHECK_EQ(counts_of(0)->sent_on_sync, 2);
}

/* The same value as before is a write too, where the page had another one meanwhile and the worker has seen that. */
static void same_value(void)
{
	put(0, 0, 1);
	release(0);
	acquire(1);
	put(1, 0, 2);
	release(1);
	acquire(0);
	put(0, 0, 1);
	release(0);
	CHECK_EQ(now(0), 1);
}

static void stale_read(void)
{
	CHECK_EQ(get(1, 0), 0);
	put(0, 0, 7);
	CHECK_EQ(now(0), 0);
	release(0);
	CHECK_EQ(now(0), 7);
	CHECK_EQ(get(1, 0), 0);
	acquire(1);
	CHECK_EQ(get(1, 0), 7);
	CHECK(counts_of(1)->given_up == 1 && counts_of(1)->read_misses == 2);
	/* What it changed itself is no reason, nor what it has fetched since. */
	acquire(0);
	acquire(1);
	CHECK(counts_of(0)->given_up == 0 && counts_of(1)->given_up == 1);
}

/* Of three that change a page in turn each knows of the two others. */
static void three_writers(void)
{
	for (uint32_t round = 1; round < 20; round++) {
		for (unsigned i = 0; i < WORKERS; i++) {
			acquire(i);
			for (unsigned k = 0; k < WORKERS; k++)
				CHECK_EQ(get(i, 4 * k), k < i ? round : round - 1);
			put(i, 4 * i, round);
			release(i);
		}
	}
}

/* No room: a dirty page is sent, and seen, before its worker's next release. */
static void eviction(void)
{
	uint64_t at = 0;

	put(0, 0, 1);
	while (!now(0)) {
		at += page;
		CHECK(at < SIZE);
		CHECK_EQ(get(0, at), 0);
	}
	CHECK(counts_of(0)->sent_on_miss == 1 && counts_of(0)->sent_on_sync == 0);
	acquire(1);
	CHECK_EQ(get(1, 0), 1);
	CHECK_EQ(get(0, 0), 1);
	release(0);
	CHECK_EQ(counts_of(0)->sent_on_sync, 0);
}

static void flushes(void)
{
	put(0, 0, 1);
	put(0, page, 2);
	adsm_copies_flush(copies_of(0), BASE + page - 1, 1);
	CHECK(now(0) == 1 && now(page) == 0);
	put(1, 0, 3);
	adsm_copies_flush_all(copies_of(1));
	/* Given up: the worker sees what others have written without an acquire. */
	CHECK_EQ(get(0, 0), 3);
	adsm_copies_flush(copies_of(0), BASE + page - 1, 2);
	CHECK_EQ(now(page), 2);
}

/* Atomic operations are of memory; the rest of the page is the workers'. */
static void atomics(void)
{
	struct adsm_store *store[2] = { &copies_of(0)->store, &copies_of(1)->store };

	put(0, 4, 1);
	CHECK_EQ(get(1, 0), 0);
	CHECK_EQ(store[0]->atomic(store[0], ADSM_STORE_ADD, BASE, 4, 5), 0);
	CHECK(now(0) == 5 && now(4) == 1);
	CHECK_EQ(store[1]->atomic(store[1], ADSM_STORE_ADD, BASE, 4, 5), 5);
	CHECK_EQ(store[0]->exchange(store[0], BASE, 4, 10, 11), 10);
	CHECK_EQ(get(2, 0), 11);
	CHECK_EQ(store[1]->atomic(store[1], ADSM_STORE_STORE, BASE, 4, 12), 0);
	acquire(2);
	CHECK_EQ(get(2, 0), 12);
	CHECK_EQ(store[1]->atomic(store[1], ADSM_STORE_LOAD, BASE + page - 2, 4, 0), 0);
}

/* What lies across two pages, and copies within memory. */
static void pieces(void)
{
	struct adsm_store *store = &copies_of(0)->store;
	uint64_t value = UINT64_C(0x1122334455667788);
	uint8_t *local;

	do_access(0, (struct access){ BASE + page - 3, 8, value, true });
	CHECK_EQ(do_access(0, (struct access){ .address = BASE + page - 3, .size = 8 }), value);
	do_access(0, (struct access){ BASE + 2 * page + 5, 7, value, true });
	store->move(store, BASE + page - 2, BASE + page - 3, 8);
	store->fill(store, BASE + 3 * page - 100, 0xab, 200);
	local = store->local(store, BASE + 3 * page - 100);
	CHECK(local >= (uint8_t *)cores[0].window && local < (uint8_t *)cores[0].window + ADSM_STORE_WINDOW);
	CHECK(local[0] == 0xab && local[99] == 0xab);
	release(0);
	CHECK(!memcmp(crc.spans[0].bytes + page - 2, &value, 8) && crc.spans[0].bytes[page - 3] == 0x88);
	CHECK(!memcmp(crc.spans[0].bytes + 2 * page + 5, &value, 7) && !crc.spans[0].bytes[2 * page + 12]);
	for (uint64_t i = 0; i < 200; i++)
		CHECK_AT(crc.spans[0].bytes[3 * page - 100 + i], i, 0xab);
}

/* A page with a part that belongs to one object, and another part that belongs to another object, only for reading. */
static void parts(void)
{
	static const uint32_t constants[4] = { 1, 2, 3, 4 };

	crc.spans[0].end = BASE + page + 8;
	crc.spans[1] = (struct adsm_crc_span){ .begin = BASE + page + 10, .end = BASE + page + 10 + sizeof(constants),
					       .bytes = (uint8_t *)(uintptr_t)constants };
	put(0, page + 4, 5);
	CHECK(get(0, page + 10) == 1 && get(0, page + 22) == 4 && get(0, page) == 0);
	release(0);
	acquire(0);
	CHECK(now(page + 4) == 5 && now(page + 8) == 0);
	CHECK(!adsm_crc_find(&crc, BASE + page + 10, 4, true) && !adsm_crc_find(&crc, BASE + page + 6, 4, false));
	crc.spans[0].end = BASE + SIZE;
	crc.spans[1].end = crc.spans[1].begin = 0;
}

/* ---- what is counted */

/* Arrays that are read, written, and both, page after page: what moves follows from their sizes. */
static void streams(uint32_t room)
{
	const uint64_t n = 12;		/* pages */

	for (uint64_t at = 0; at < n * page; at += 4)
		CHECK_EQ(get(0, at), 0);
	for (uint64_t at = 0; at < n * page; at += 4)
		put(1, at, 1);
	for (uint64_t at = 0; at < n * page; at += 4)
		put(2, at, (uint32_t)get(2, at) + 1);
	for (unsigned i = 0; i < WORKERS; i++)
		release(i);
	CHECK(counts_of(0)->reads == n * page / 4 && counts_of(0)->writes == 0);
	CHECK(counts_of(0)->read_misses == n && counts_of(0)->sent_on_miss + counts_of(0)->sent_on_sync == 0);
	CHECK(counts_of(1)->writes == n * page / 4 && counts_of(1)->write_misses == n && counts_of(1)->upgrades == 0);
	CHECK(counts_of(2)->read_misses == n && counts_of(2)->write_misses == 0 && counts_of(2)->upgrades == n);
	for (unsigned i = 1; i < WORKERS; i++)
		CHECK(counts_of(i)->sent_on_miss == n - room && counts_of(i)->sent_on_sync == room);
}

/* Two write parts of a page that the other does not look at; then one looks. */
static void false_sharing(void)
{
	for (uint32_t round = 1; round <= 5; round++) {
		put(0, 0, round);
		put(1, page / 2, round);
		release(0);
		release(1);
		acquire(0);
		acquire(1);
	}
	CHECK(counts_of(0)->given_up == 5 && counts_of(0)->shared_falsely == 5);
	CHECK(counts_of(1)->given_up == 5 && counts_of(1)->shared_falsely == 5);
	CHECK(crc.worst.n == 10 && crc.worst.address == BASE);
	/* Because of the other worker, in either order. */
	CHECK(crc.worst.worker == 1 && crc.worst.writer == 0);
	put(0, 0, 6);
	CHECK_EQ(get(1, 0), 5);
	release(0);
	acquire(1);
	CHECK(counts_of(1)->given_up == 6 && counts_of(1)->shared_falsely == 5);
}

/* Two workers write neighbouring bytes: each uses what the other has changed, in either order. */
static void true_sharing(void)
{
	for (uint32_t round = 1; round <= 5; round++) {
		put(0, 0, round);
		put(1, 4, round);
		release(round % 2);
		release(1 - round % 2);
		acquire(0);
		acquire(1);
	}
	for (unsigned i = 0; i < 2; i++)
		CHECK(counts_of(i)->given_up == 5 && counts_of(i)->shared_falsely == 0);
	CHECK_EQ(crc.worst.n, 0);
}

/* One number is looked at in each fourth KiB, and one is written: what smaller pages had moved. */
static void smaller_pages(void)
{
	put(0, 0, 1);
	for (uint64_t at = 4096; at < 4 * 16384; at += 4096)
		CHECK_EQ(get(0, at), 0);
	release(0);
	adsm_copies_flush_all(copies_of(0));
	for (uint32_t i = 0, size = 2048; size <= page; i++, size *= 2) {
		const uint64_t n = size < 4096 ? 16 : 4 * 16384 / size;

		CHECK_AT(counts_of(0)->moved[i], i, (n + 1) * size);
	}
}

/* ---- random programs */

#define LOCKS 5
#define VARIABLES (16 * 4)		/* a line of them, each of up to 8 bytes; neighbours are of different locks */
#define LINES 6

static uint64_t seed;
static uint8_t oracle[SIZE];

static uint32_t random_below(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

/* Some bytes of one of the variables of a lock, all over the pages; those of lock LOCKS + w are worker w's alone. */
static uint64_t choose(uint32_t lock, uint64_t *ret_size)
{
	const uint64_t variable = random_below(VARIABLES) * (LOCKS + WORKERS) + lock;
	const uint64_t line = random_below(LINES) * (SIZE / LINES & ~(uint64_t)4095);
	const uint64_t offset = random_below(7);

	*ret_size = offset ? 1 + random_below((uint32_t)(7 - offset)) : 7;
	/* Seven bytes each: they lie across everything. */
	return line + variable * 7 + offset;
}

static void random_access(unsigned worker, uint32_t lock)
{
	struct access access = { .write = random_below(2), .value = random_below(3) * 0x0101010101010101u };
	uint64_t at = choose(lock, &access.size), got = 0;

	access.address = BASE + at;
	if (access.write)
		memcpy(oracle + at, &access.value, access.size);
	else
		access.value = 0;
	got = do_access(worker, access);
	CHECKF(!memcmp(&got, oracle + at, access.size), "worker %u, lock %u, byte %llu", worker, lock,
	       (unsigned long long)at);
}

/* Workers take locks, any number at the same time, and touch only what these guard. */
static void random_program(unsigned n_steps)
{
	int owner[LOCKS];

	memset(owner, -1, sizeof(owner));
	memset(oracle, 0, sizeof(oracle));
	for (unsigned step = 0; step < n_steps; step++) {
		const unsigned worker = random_below(WORKERS), lock = random_below(LOCKS);

		switch (random_below(16)) {
		case 0:
			random_access(worker, LOCKS + worker);
			break;
		case 1:
			adsm_copies_flush(copies_of(worker), BASE + random_below(SIZE), 1 + random_below(page));
			break;
		case 2: case 3:
			if (owner[lock] < 0) {
				owner[lock] = (int)worker;
				acquire(worker);
			}
			break;
		case 4: case 5:
			if (owner[lock] == (int)worker) {
				release(worker);
				owner[lock] = -1;
			}
			break;
		default:
			if (owner[lock] == (int)worker)
				random_access(worker, lock);
		}
	}
	for (unsigned i = 0; i < WORKERS; i++)
		release(i);
	CHECK(!memcmp(crc.spans[0].bytes, oracle, SIZE));
}

/* ---- two threads write alternate bytes of the same page, which a third one reads */

#define ROUNDS 300

static pthread_barrier_t all;

static void *alternate(void *arg)
{
	const unsigned worker = (unsigned)(uintptr_t)arg;

	for (unsigned round = 1; round <= ROUNDS; round++) {
		for (uint64_t i = worker; worker < 2 && i < 600; i += 2)
			do_access(worker, (struct access){ BASE + i, 1, round + i, true });
		release(worker);
		pthread_barrier_wait(&all);
		acquire(worker);
		for (uint64_t i = 0; i < 600; i++)
			CHECK_EQ(do_access(worker, (struct access){ .address = BASE + i, .size = 1 }) & 255,
				 (round + i) & 255);
		release(worker);
		pthread_barrier_wait(&all);
		acquire(worker);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread[WORKERS];

	pthread_barrier_init(&all, NULL, WORKERS);
	for (uintptr_t i = 0; i < WORKERS; i++)
		CHECK_OK(pthread_create(&thread[i], NULL, alternate, (void *)i));
	for (unsigned i = 0; i < WORKERS; i++)
		CHECK_OK(pthread_join(thread[i], NULL));
}

/* ---- */

/* A store as large as its code buffer, or only a few bytes larger: no number of pages fits. */
static void no_room(void)
{
	const struct adsm_scratchpad_task task = { 2048, 0 };
	struct adsm_scratchpad_geometry geometry = { .code = 65536 };
	struct adsm_scratchpad_layout layout;
	char text[512];

	for (geometry.size = geometry.code; geometry.size < geometry.code + 8; geometry.size++) {
		CHECK(!adsm_scratchpad_lay_out_task(&geometry, &task, &layout, text, sizeof(text)));
		CHECKF(strstr(text, " is too small for 1 pages of 2048 bytes"), "%s", text);
	}
}

int main(void)
{
	static void (*const litmus[])(void) = {
		two_writers, upgrade_of_stale, two_locks, writes_on, same_value, stale_read, three_writers, eviction,
		flushes, atomics, pieces, parts, threads,
	};
	const unsigned n_programs = getenv("TEST_FULL") ? 2000 : 20;

	no_room();
	for (page = 2048; page <= 16384; page *= 2) {
		for (uint32_t room = 4; room <= 8; room *= 2) {
			for (unsigned i = 0; i < 2 * sizeof(litmus) / sizeof(litmus[0]); i++) {
				start(page, room, i % 2);
				litmus[i / 2]();
				stop();
			}
		}
		for (uint32_t room = 1; room <= 8; room *= 2) {
			start(page, room, true);
			streams(room);
			stop();
		}
		start(page, 8, true);
		false_sharing();
		stop();
		start(page, 8, true);
		true_sharing();
		stop();
		start(page, 8, true);
		smaller_pages();
		stop();
		for (unsigned i = 0; i < n_programs; i++) {
			seed = i * 1000003 + page;
			start(page, 1u << i % 5, i % 3 == 0);
			random_program(3000);
			stop();
		}
	}
	return 0;
}
