/* SPDX-License-Identifier: MIT */
/* test_pages.c - the pages of one node: test-pages sigsegv|uffd CASE, with real faults. */
#include "pages.h"
#include "cluster/node/net/runs.h"
#include "cluster/node/pages/table.h"
#include "cluster/node/pages/waiting.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Home's bytes: each page differs from all others, each byte from its neighbours. */
static uint8_t byte_of(uint64_t page, size_t at)
{
	return (uint8_t)(page * 31 + at * 7 + page / 256 + 1);
}

static void fill_home(void)
{
	for (uint64_t page = 0; page < n_pages; page++)
		for (size_t at = 0; at < PAGE; at++)
			home[page * PAGE + at] = byte_of(page, at);
}

/* ---- stores: each page once, whatever the number of threads, and only what was written */

static void test_stores(void)
{
	for (int is_home = 0; is_home < 2; is_home++) {
		start(2000, is_home, 0);
		CHECK_OK(adsm_pages_add(run_of(3, 1500)));
		memset(adsm_pages_alias(3), 7, 1500 * PAGE);
		adsm_pages_arrived(run_of(3, 1500), true);
		for (int launch = 0; launch < 3; launch++) {
			struct adsm_pages_counts before = adsm_pages_counts();

			begin();
			for (uint64_t page = 3; page < 1503; page++)
				CHECK_EQ(load(page, 5), page == 9 ? 7 + launch : 7);
			store(3, 0, 7);
			store(9, 5, (uint8_t)(8 + launch));
			store(9, 4095, 1);
			store(10, 17, (uint8_t)launch);
			store(1502, 4095, (uint8_t)launch);
			WRITTEN(3, 1, 9, 2, 1502, 1);
			CHECK_EQ(adsm_pages_counts().write_faults - before.write_faults, 4);
			CHECK_EQ(adsm_pages_alias(9)[5], 8 + launch);
			if (is_home)
				adsm_pages_arrived(run_of(100, 2), true);
		}
		begin();
		WRITTEN(NONE);
		end(is_home);
	}
}

/* ---- how many pages a touch asks for */

static void test_ahead(void)
{
	uint64_t page = 100;

	start(64, false, 0);
	adsm_table.max_read_ahead = 8;
	/* Touches in order ask for more each time, up to the limit; pages that were here already do not matter. */
	for (uint64_t n = 1; n <= 8; n *= 2) {
		CHECK_EQ(adsm_waiting_ahead(page), n);
		page += n + (n > 1 ? n - 1 : 0);
	}
	CHECK_EQ(adsm_waiting_ahead(page), 8);
	/* Neither a page behind the stream nor one too far ahead continues it. */
	CHECK_EQ(adsm_waiting_ahead(page + 7), 1);
	CHECK_EQ(adsm_waiting_ahead(page + 16), 1);
	CHECK_EQ(adsm_waiting_ahead(page + 8), 8);
	/* The 32 youngest streams are followed. */
	for (uint64_t i = 1; i < 32; i++)
		CHECK_EQ(adsm_waiting_ahead(1000 * i), 1);
	CHECK_EQ(adsm_waiting_ahead(1001), 2);
	CHECK_EQ(adsm_waiting_ahead(page + 16), 1);
	adsm_waiting_forget();
	CHECK_EQ(adsm_waiting_ahead(1003), 1);
	end(false);
}

/* ---- which pages around a run become accessible together: of an object, and with the same permission */

static void check_around(struct adsm_run run, uint64_t size, struct adsm_run want)
{
	const struct adsm_run around = adsm_table_around(run, size);

	CHECK_AT(around.first, run.first, want.first);
	CHECK_AT(around.n, run.first, want.n);
}

static void test_around(void)
{
	const struct adsm_run read_only = { 15, 3 };

	start(64, false, 0);
	CHECK_OK(adsm_pages_add(run_of(10, 20)));
	CHECK_OK(adsm_pages_begin(&read_only, 1));
	check_around(run_of(12, 1), 1, run_of(12, 1));
	check_around(run_of(12, 1), 4, run_of(12, 3));
	check_around(run_of(12, 2), 32, run_of(10, 5));
	check_around(run_of(16, 1), 32, run_of(15, 3));
	check_around(run_of(20, 1), 32, run_of(18, 12));
	check_around(run_of(29, 1), 64, run_of(18, 12));
	WRITTEN(NONE);
	end(false);
}

/* ---- lists of runs */

static void check_set(const struct adsm_runs *runs, uint64_t set)
{
	uint64_t in_runs = 0, joined = set & ~(set << 1);

	CHECK_EQ(runs->n, __builtin_popcountll(joined));
	for (size_t i = 0; i < runs->n; i++)
		in_runs |= ((1ull << runs->v[i].n) - 1) << runs->v[i].first;
	CHECK_EQ(in_runs, set);
}

/* As a set: each run into, and out of, runs of three pages with gaps of two. */
static void check_sets(uint64_t first, uint64_t n)
{
	struct adsm_runs runs = { 0 }, inside = { 0 }, outside = { 0 };
	const uint64_t pages = ((1ull << n) - 1) << first;
	uint64_t set = 0;

	for (uint64_t i = 0; i < 4; i++) {
		adsm_runs_insert(&runs, run_of(5 * i + 2, 3));
		set |= 7ull << (5 * i + 2);
	}
	check_set(&runs, set);
	adsm_runs_split(&runs, run_of(first, n), &inside, &outside);
	check_set(&inside, set & pages);
	check_set(&outside, pages & ~set);
	adsm_runs_insert(&runs, run_of(first, n));
	check_set(&runs, set | pages);
	adsm_runs_remove(&runs, run_of(first, n));
	check_set(&runs, set & ~pages);
	free(runs.v);
	free(inside.v);
	free(outside.v);
}

static void test_runs(void)
{
	struct adsm_runs runs = { 0 };

	for (uint64_t first = 0; first < 24; first++)
		for (uint64_t n = 1; n < 24; n++)
			check_sets(first, n);

	adsm_runs_add(&runs, 7, 0);
	CHECK_EQ(runs.n, 0);
	for (uint64_t i = 0; i < 100; i++) {
		adsm_runs_add(&runs, 10 * i, 2);
		adsm_runs_add(&runs, 10 * i + 2, 3);
		CHECK_EQ(runs.n, i + 1);
	}
	for (uint64_t i = 0; i < 100; i++)
		CHECK(runs.v[i].first == 10 * i && runs.v[i].n == 5);
	CHECK_EQ(adsm_runs_pages(runs.v, runs.n), 500);
	free(runs.v);
}

/* ---- twins, and what is made of them */

static void patch(uint64_t page, uint16_t offset, uint8_t value)
{
	const struct { uint16_t offset, length; uint8_t value; } diff = { offset, 1, value };

	CHECK_OK(adsm_pages_patch(page, (const uint8_t *)&diff, 5));
}

static void test_twins(void)
{
	static const uint8_t merged[] = { 200, 230, 210, 240 };
	uint8_t diff[ADSM_PAGES_DIFF_MAX], bytes[PAGE];

	start(64, true, 0);
	CHECK_OK(adsm_pages_add(run_of(0, 64)));
	for (size_t i = 0; i < PAGE; i++)
		adsm_pages_alias(5)[i] = adsm_pages_alias(6)[i] = adsm_pages_alias(7)[i] = (uint8_t)i;
	for (int launch = 0; launch < 3; launch++) {
		memcpy(bytes, adsm_pages_alias(5), PAGE);
		begin();
		store(5, 100, (uint8_t)(200 + launch));
		/* Others ask for it, and for one that this node does not write. */
		CHECK(!memcmp(adsm_pages_original(5), bytes, PAGE));
		CHECK(!memcmp(adsm_pages_original(6), adsm_pages_alias(6), PAGE));
		store(5, 102, (uint8_t)(210 + launch));
		store(6, 0, (uint8_t)(220 + launch));
		WRITTEN(5, 2);
		CHECK(adsm_pages_has_twin(5) && adsm_pages_has_twin(6));
		CHECK(!memcmp(adsm_pages_twin(5), bytes, PAGE));
		CHECK_EQ(adsm_pages_diff(5, diff), 10);
		/* Node 1 wrote the byte between, and sends the page; node 2 the next one, and sends what differs. */
		bytes[101] = (uint8_t)(230 + launch);
		adsm_pages_merge(5, bytes);
		patch(5, 103, (uint8_t)(240 + launch));
		for (size_t i = 0; i < 4; i++)
			CHECK_AT(adsm_pages_alias(5)[100 + i], i, merged[i] + launch);
		/* Two others wrote a page that is not written here, one of them sends a diff. */
		memcpy(bytes, adsm_pages_alias(7), PAGE);
		patch(7, 8, (uint8_t)(100 + launch));
		bytes[9] = (uint8_t)(110 + launch);
		adsm_pages_merge(7, bytes);
		CHECK_EQ(adsm_pages_alias(7)[8], 100 + launch);
		CHECK_EQ(adsm_pages_alias(7)[9], 110 + launch);
		CHECK_EQ(adsm_pages_patch(5, diff, 3), -EINVAL);
		/* And the host wrote, too. */
		adsm_pages_alias(5)[300] = (uint8_t)(50 + launch);
		adsm_pages_arrived(run_of(5, 1), true);
	}
	end(true);
}

/* ---- fetches */

static void test_fetches(void)
{
	static const uint64_t sequential[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 256, 256, 256 };
	uint64_t at = 10;

	start(4096, false, 0);
	fill_home();
	CHECK_OK(adsm_pages_add(run_of(10, 4000)));
	begin();
	for (uint64_t page = 10; page < 10 + 1279; page++)
		CHECK_EQ(load(page, page % PAGE), byte_of(page, page % PAGE));
	CHECK_EQ(n_fetches, 12);
	for (size_t i = 0; i < 12; i++) {
		CHECK_AT(fetches[i].first, i, at);
		CHECK_AT(fetches[i].n, i, sequential[i]);
		at += fetches[i].n;
	}
	CHECK_EQ(adsm_pages_counts().read_faults, 12);
	CHECK_EQ(adsm_pages_counts().fetched, 1279);
	/* Here and there: no more than is asked for, and nothing beyond the object's end. */
	n_fetches = 0;
	CHECK_EQ(load(3000, 1), byte_of(3000, 1));
	CHECK_EQ(load(2000, 1), byte_of(2000, 1));
	CHECK_EQ(load(4009, 1), byte_of(4009, 1));
	CHECK_EQ(load(4008, 1), byte_of(4008, 1));
	CHECK_EQ(load(4007, 1), byte_of(4007, 1));
	CHECK_EQ(n_fetches, 5);
	for (size_t i = 0; i < 5; i++)
		CHECK_AT(fetches[i].n, i, 1);
	WRITTEN(NONE);
	end(false);
}

/* A store to a page that is not there: the other bytes come first. */
static void test_store_invalid(void)
{
	uint8_t diff[ADSM_PAGES_DIFF_MAX];

	start(64, false, 1);
	fill_home();
	CHECK_OK(adsm_pages_add(run_of(0, 64)));
	for (int launch = 0; launch < 3; launch++) {
		begin();
		store(20, 50, 1);
		WRITTEN(20, 1);
		CHECK_EQ(n_fetches, launch + 1);
		for (size_t at = 0; at < PAGE; at++)
			CHECK_AT(adsm_pages_alias(20)[at], at, at == 50 ? 1 : byte_of(20, at));
		CHECK_EQ(adsm_pages_has_twin(20), track == ADSM_TRACK_SIGSEGV);
		if (track == ADSM_TRACK_SIGSEGV)
			CHECK_EQ(adsm_pages_diff(20, diff), 5);
		adsm_pages_invalidate(run_of(20, 1));
		CHECK(!adsm_pages_has_twin(20) && !adsm_pages_valid(20));
	}
	end(false);
}

/* ---- many threads */

#define N_THREADS 8
#define N_TOUCHED 600

static atomic_bool go;
static atomic_uint n_ready;
static int this_round;

/* All touch all pages, each from another one on; page p's byte t is for thread t alone. */
static void *touch_all(void *arg)
{
	const unsigned self = (unsigned)(uintptr_t)arg;

	atomic_fetch_add(&n_ready, 1);
	while (!atomic_load(&go))
		;
	for (uint64_t i = 0; i < N_TOUCHED; i++) {
		/* Even threads access pages in the same order, at the same time; odd threads start at different
		 * pages. */
		uint64_t page = self % 2 ? (i + self * 71) % N_TOUCHED : i;

		if (page % 3)
			store(page, self, (uint8_t)(self + this_round));
		else
			CHECK_EQ(load(page, 100 + self), byte_of(page, 100 + self));
	}
	return NULL;
}

static void test_threads(void)
{
	pthread_t threads[N_THREADS];
	uint64_t wanted[N_TOUCHED + 2] = { 0 };

	for (int is_home = 0; is_home < 2; is_home++) {
		start(N_TOUCHED + 50, is_home, is_home ? 0 : 8);
		fill_home();
		CHECK_OK(adsm_pages_add(run_of(0, N_TOUCHED)));
		for (uint64_t page = 0; page < N_TOUCHED; page++)
			memcpy(adsm_pages_alias(page), home + page * PAGE, is_home ? PAGE : 0);
		for (uint64_t i = 0; i < N_TOUCHED / 3; i++) {
			wanted[2 * i] = 3 * i + 1;
			wanted[2 * i + 1] = 2;
		}
		for (this_round = 100; this_round < 120; this_round++) {
			const uint64_t before = adsm_pages_counts().write_faults;

			begin();
			go = false;
			n_ready = 0;
			for (uintptr_t i = 0; i < N_THREADS; i++)
				CHECK_OK(pthread_create(&threads[i], NULL, touch_all, (void *)i));
			while (n_ready < N_THREADS)
				;
			atomic_store(&go, true);
			for (size_t i = 0; i < N_THREADS; i++)
				CHECK_OK(pthread_join(threads[i], NULL));
			check_written(wanted);
			CHECK_EQ(adsm_pages_counts().write_faults - before, N_TOUCHED / 3 * 2);
			for (uint64_t page = 0; page < N_TOUCHED; page++)
				for (size_t at = 0; at < 16; at++)
					CHECK_AT(adsm_pages_alias(page)[at], page, page % 3 && at < N_THREADS ?
						 at + (size_t)this_round : byte_of(page, at));
			/* Twins are older than the first store, whichever thread made them. */
			for (uint64_t page = 0; page < N_TOUCHED; page++)
				for (size_t at = 0; at < N_THREADS && page % 3 && adsm_pages_has_twin(page); at++)
					CHECK_AT(adsm_pages_twin(page)[at], page, is_home && this_round > 100 ?
						 at + (size_t)this_round - 1 : byte_of(page, at));
			if (!is_home)
				adsm_pages_invalidate(run_of(0, N_TOUCHED));
		}
		end(is_home);
	}
}

/* ---- 40,000 pages, and as many between them that have another protection */

#define N_ALTERNATING 40000

static size_t n_mappings(void)
{
	static char text[1 << 16];
	size_t n = 0;
	ssize_t got;
	int fd = open("/proc/self/maps", O_RDONLY);

	while ((got = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < got; i++)
			n += text[i] == '\n';
	close(fd);
	return n;
}

static void check_mappings(void)
{
	char text[32];
	const size_t most = strtoul(adsm_os_read_text("/proc/sys/vm/max_map_count", text, sizeof(text)), NULL, 10);

	/* Half of them are left for others, but for what runs of 64 pages take. */
	CHECKF(n_mappings() < most / 8 * 5, "%zu mappings of %zu", n_mappings(), most);
	if (track == ADSM_TRACK_UFFD)
		CHECKF(n_mappings() < 500, "%zu mappings", n_mappings());
}

static void test_alternating_stores(void)
{
	size_t n;
	const struct adsm_run *runs;

	start(2 * N_ALTERNATING, true, 0);
	CHECK_OK(adsm_pages_add(run_of(0, 2 * N_ALTERNATING)));
	for (uint64_t page = 0; page < 2 * N_ALTERNATING; page++)
		adsm_pages_alias(page)[1] = 3;
	for (int launch = 0; launch < 2; launch++) {
		begin();
		/* The first page last: it has been opened for a neighbour then, and is written without a fault. */
		for (uint64_t page = 2 * N_ALTERNATING - 2 + (uint64_t)launch; page < 2 * N_ALTERNATING; page -= 2)
			store(page, 0, (uint8_t)(launch + 1));
		check_mappings();
		for (uint64_t page = 0; page < 2 * N_ALTERNATING; page++)
			CHECK_EQ(load(page, 1), 3);
		runs = adsm_pages_written(&n);
		CHECK_EQ(n, N_ALTERNATING);
		for (size_t i = 0; i < n; i++)
			CHECK(runs[i].first == 2 * i + (size_t)launch && runs[i].n == 1);
		CHECK_EQ(adsm_pages_counts().write_faults, N_ALTERNATING * (launch + 1));
	}
	end(true);
}

static void test_alternating_fetches(void)
{
	size_t n;

	start(2 * N_ALTERNATING, false, 1);
	CHECK_OK(adsm_pages_add(run_of(0, 2 * N_ALTERNATING)));
	for (uint64_t page = 0; page < 2 * N_ALTERNATING; page++) {
		home[page * PAGE] = 2;
		adsm_pages_alias(page)[0] = 1;
	}
	adsm_pages_arrived(run_of(0, 2 * N_ALTERNATING), true);
	/* In some order, as others wrote them. */
	for (uint64_t i = 0; i < N_ALTERNATING; i++)
		adsm_pages_invalidate(run_of(i * 7919 % N_ALTERNATING * 2, 1));
	adsm_pages_invalidate(run_of(0, 4096));
	check_mappings();
	begin();
	for (uint64_t i = 0; i < 2 * N_ALTERNATING; i++) {
		uint64_t page = i * 7919 % (2 * N_ALTERNATING);

		CHECK_AT(load(page, 0), page, page % 2 && page >= 4096 ? 1 : 2);
		if (page % 8 == 0)
			store(page, 9, 9);
	}
	check_mappings();
	CHECK(adsm_pages_written(&n));
	CHECK_EQ(n, N_ALTERNATING / 4);
	CHECK_EQ(adsm_pages_counts().fetched, N_ALTERNATING + 2048);
	/* However many pages had to come before one could be opened. */
	for (size_t i = 0; i < n_fetches; i++)
		CHECK_AT(fetches[i].n, i, 1);
	end(false);
}

/* ---- what kernels may not do */

static void test_errors(void)
{
	for (int is_home = 0; is_home < 2; is_home++) {
		const struct adsm_run read_only[] = { { 50, 10 }, { 20, 5 } };

		start(100, is_home, 0);
		fill_home();
		CHECK_OK(adsm_pages_add(run_of(20, 5)));
		CHECK_OK(adsm_pages_add(run_of(40, 30)));
		memcpy(adsm_pages_alias(0), home, is_home ? 100 * PAGE : 0);
		CHECK_OK(adsm_pages_begin(read_only, 2));
		CHECK_EQ(load(20, 3), byte_of(20, 3));
		CHECK_EQ(load(59, 3), byte_of(59, 3));
		check_wrong(true, 20, 3, ADSM_PAGES_STORE);
		check_wrong(true, 24, 4095, ADSM_PAGES_STORE);
		check_wrong(true, 59, 8, ADSM_PAGES_STORE);
		check_wrong(false, 19, 4095, ADSM_PAGES_ILLEGAL);
		check_wrong(true, 25, 0, ADSM_PAGES_ILLEGAL);
		check_wrong(false, 99, 4095, ADSM_PAGES_ILLEGAL);
		store(49, 0, 1);
		store(60, 0, 1);
		CHECK_EQ(load(49, 1), byte_of(49, 1));
		WRITTEN(49, 1, 60, 1);
		for (size_t at = 0; at < PAGE; at++)
			CHECK_EQ(adsm_pages_alias(59)[at], byte_of(59, at));
		/* Another call: of these it may write one. */
		CHECK_OK(adsm_pages_begin(read_only + 1, 1));
		CHECK_EQ(load(59, 2), byte_of(59, 2));
		store(59, 8, 1);
		store(58, 8, 1);
		check_wrong(true, 21, 3, ADSM_PAGES_STORE);
		WRITTEN(58, 2);
		CHECK_EQ(adsm_pages_has_twin(59), is_home || track == ADSM_TRACK_SIGSEGV);
		if (is_home)
			CHECK_EQ(adsm_pages_twin(59)[8], byte_of(59, 8));
		adsm_pages_remove(run_of(20, 5));
		begin();
		check_wrong(false, 20, 0, ADSM_PAGES_ILLEGAL);
		end(is_home);
	}
}

/* ---- objects that come and go, pages that become invalid */

static void test_between(void)
{
	static struct { uint64_t n; uint8_t value; bool valid; } objects[64];
	uint64_t seed = 42;

	start(64 * 16, false, 0);
	for (int round = 0; round < 400; round++) {
		uint64_t written[130] = { 0 };
		size_t n = 0;

		/* One comes or goes; another changes elsewhere, and either it comes or it is only told of. */
		for (int change = 0; change < 4; change++) {
			uint64_t i = draw(&seed) % 64, n_new = 1 + draw(&seed) % 16;

			if (objects[i].n) {
				adsm_pages_remove(run_of(16 * i, objects[i].n));
				/* The memory is the system's again. */
				CHECK_EQ(adsm_pages_alias(16 * i)[7], 0);
				objects[i].n = 0;
			} else {
				CHECK_OK(adsm_pages_add(run_of(16 * i, n_new)));
				objects[i].n = n_new;
				CHECK(!adsm_pages_valid(16 * i));
			}
			memset(home + 16 * i * PAGE, (int)draw(&seed), 16 * PAGE);
			i = draw(&seed) % 64;
			if (!objects[i].n)
				continue;
			memset(home + 16 * i * PAGE, (int)draw(&seed), 16 * PAGE);
			if (draw(&seed) % 2) {
				memcpy(adsm_pages_alias(16 * i), home + 16 * i * PAGE, objects[i].n * PAGE);
				adsm_pages_arrived(run_of(16 * i, objects[i].n), draw(&seed) % 2);
			} else {
				adsm_pages_invalidate(run_of(16 * i, objects[i].n));
			}
		}
		begin();
		for (uint64_t i = 0; i < 64; i++) {
			const uint64_t last = 16 * i + objects[i].n - 1;

			if (!objects[i].n) {
				check_wrong(false, 16 * i, 0, ADSM_PAGES_ILLEGAL);
				continue;
			}
			for (uint64_t page = 16 * i; page <= last; page++)
				CHECK_AT(load(page, round), page, home[page * PAGE + (size_t)round]);
			if (draw(&seed) % 2) {
				store(last, 4000, (uint8_t)round);
				home[last * PAGE + 4000] = (uint8_t)round;
				written[n++] = last;
				written[n++] = 1;
			}
		}
		/* Neighbours are one run. */
		for (size_t i = 0; i + 2 < n;)
			if (written[i] + written[i + 1] == written[i + 2]) {
				written[i + 1] += written[i + 3];
				memmove(written + i + 2, written + i + 4, (126 - i) * sizeof(*written));
				n -= 2;
			} else {
				i += 2;
			}
		check_written(written);
	}
	end(false);
}

/* What came as one run goes page by page: every other one first. */
static void test_holes(void)
{
	enum { N = 2000 };
	uint64_t odd[N + 2] = { 0 };

	start(N, true, 0);
	for (int round = 0; round < 3; round++) {
		CHECK_OK(adsm_pages_add(run_of(0, N)));
		for (uint64_t page = 0; page < N; page += 2)
			adsm_pages_remove(run_of(page, 1));
		begin();
		for (uint64_t page = 1; page < N; page += 2) {
			store(page, 9, 1);
			odd[page - 1] = page;
			odd[page] = 1;
		}
		check_wrong(true, 1000, 0, ADSM_PAGES_ILLEGAL);
		check_written(odd);
		for (uint64_t page = 1; page < N; page += 2)
			adsm_pages_remove(run_of(page, 1));
	}
	end(true);
}

/* ---- pages that arrive unmapped */

static void test_probes(void)
{
	start(64, false, 0);
	fill_home();
	CHECK_OK(adsm_pages_add(run_of(0, 64)));
	for (int launch = 0; launch < 3; launch++) {
		const struct adsm_pages_counts before = adsm_pages_counts();

		memcpy(adsm_pages_alias(0), home, 64 * PAGE);
		adsm_pages_arrived(run_of(0, 32), false);
		adsm_pages_arrived(run_of(32, 32), true);
		begin();
		CHECK_EQ(load(4, 4), byte_of(4, 4));
		CHECK_EQ(load(4, 5), byte_of(4, 5));
		store(6, 6, 1);
		CHECK_EQ(load(40, 6), byte_of(40, 6));
		WRITTEN(6, 1);
		for (uint64_t page = 0; page < 64; page++) {
			CHECK_AT(adsm_pages_touched(page), page, page == 4 || page == 6 || page >= 32);
			CHECK(adsm_pages_valid(page));
		}
		CHECK_EQ(adsm_pages_counts().first_touches - before.first_touches, 2);
		CHECK_EQ(n_fetches, 0);
	}
	end(false);
}

/* ---- faults of others */

static volatile sig_atomic_t n_before, n_after;
static struct sigaction chained;
static uint8_t *elsewhere;

static void on_before(int sig, siginfo_t *info, void *context)
{
	n_before++;
	CHECK((uint8_t *)info->si_addr == elsewhere);
	adsm_os_protect(elsewhere, PAGE, ADSM_PROT_RW);
}

static void on_after(int sig, siginfo_t *info, void *context)
{
	n_after++;
	chained.sa_sigaction(sig, info, context);
}

static void *on_small_stack(void *arg)
{
	stack_t stack = { .ss_sp = arg, .ss_size = 32 << 10 };

	CHECK(!sigaltstack(&stack, NULL));
	store(1, 1, 1);
	stack.ss_flags = SS_DISABLE;
	CHECK(!sigaltstack(&stack, NULL));
	return NULL;
}

static void test_foreign(void)
{
	const struct sigaction before = { .sa_sigaction = on_before, .sa_flags = SA_SIGINFO };
	const struct sigaction after = { .sa_sigaction = on_after, .sa_flags = SA_SIGINFO };
	uint8_t *stack = calloc(1, 32 << 10);
	struct sigaction now;
	pthread_t thread;
	int status;
	pid_t child;

	elsewhere = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(elsewhere != MAP_FAILED && stack);
	CHECK(!sigaction(SIGSEGV, &before, NULL) && !sigaction(SIGBUS, &before, NULL));
	start(16, false, 0);
	CHECK_OK(adsm_pages_add(run_of(0, 16)));
	begin();
	errno = 77;
	*(volatile uint8_t *)elsewhere = 1;
	CHECK(n_before == 1 && errno == 77);
	/* A handler that is set later and forwards: it gets this handler's faults, too, until a launch begins. */
	CHECK(!sigaction(SIGSEGV, &after, &chained));
	adsm_os_protect(elsewhere, PAGE, ADSM_PROT_NONE);
	*(volatile uint8_t *)elsewhere = 1;
	CHECK(n_after == 1 && n_before == 2);
	begin();
	store(0, 0, 1);
	CHECK_EQ(n_after, 1);
	adsm_os_protect(elsewhere, PAGE, ADSM_PROT_NONE);
	*(volatile uint8_t *)elsewhere = 1;
	CHECK(n_after == 2 && n_before == 3);
	/* The handler ran where it should. */
	CHECK_OK(pthread_create(&thread, NULL, on_small_stack, stack));
	CHECK_OK(pthread_join(thread, NULL));
	for (status = 0; status < 16 << 10 && !stack[(16 << 10) + status]; status++)
		;
	CHECK(status < 16 << 10);
	end(false);
	CHECK(!sigaction(SIGBUS, NULL, &now) && now.sa_sigaction == on_before);
	free(stack);
	/* Without a previous handler, the fault ends the process as always. */
	child = fork();
	if (!child) {
		signal(SIGSEGV, SIG_DFL);
		signal(SIGBUS, SIG_DFL);
		start(16, true, 0);
		begin();
		adsm_os_protect(elsewhere, PAGE, ADSM_PROT_NONE);
		*(volatile uint8_t *)elsewhere = 1;
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

/* ---- systems that have less */

/* From here on there is no userfaultfd(2), as in a container. */
static void forbid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
}

static void test_lacking(void)
{
	static const enum adsm_track wanted[] = { ADSM_TRACK_AUTO, ADSM_TRACK_UFFD };
	char text[4096] = "";
	int ends[2], kept = dup(2);

	forbid();
	CHECK(!pipe(ends) && dup2(ends[1], 2) == 2);
	for (int i = 0; i < 2; i++) {
		struct adsm_pages_config config = { .size = 16 * PAGE, .track = wanted[i], .wake = wake };
		void *p;

		CHECK_OK(adsm_os_reserve(0, config.size, &p));
		config.base = (uintptr_t)p;
		CHECK_OK(adsm_os_memfd("test-pages", config.size, &config.fd));
		CHECK_OK(adsm_pages_start(&config));
		CHECK_EQ(adsm_pages_track(), ADSM_TRACK_SIGSEGV);
		adsm_pages_stop();
		close(config.fd);
	}
	CHECK(dup2(kept, 2) == 2 && read(ends[0], text, sizeof(text) - 1) > 0);
	CHECKF(strstr(text, "userfaultfd: the process may not use it"), "%s", text);
	/* One line, for the thread that asked for it. */
	CHECKF(strstr(text, "the node uses sigsegv\n") && !strchr(text, '\n')[1], "%s", text);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "stores", test_stores },
	{ "ahead", test_ahead },
	{ "around", test_around },
	{ "runs", test_runs },
	{ "twins", test_twins },
	{ "fetches", test_fetches },
	{ "store-invalid", test_store_invalid },
	{ "threads", test_threads },
	{ "alternating-stores", test_alternating_stores },
	{ "alternating-fetches", test_alternating_fetches },
	{ "errors", test_errors },
	{ "between", test_between },
	{ "holes", test_holes },
	{ "probes", test_probes },
	{ "foreign", test_foreign },
	{ "lacking", test_lacking },
};

int main(int argc, char **argv)
{
	CHECK_EQ(argc, 3);
	track = track_named(argv[1]);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(argv[2], cases[i].name)) {
			cases[i].run();
			return 0;
		}
	FAIL("there is no case %s", argv[2]);
}
