/* SPDX-License-Identifier: MIT */
/*
 * once.c - the costs of the functions of write-once objects.
 *
 * get: of a unit that is set. The floor is a plain load of the same bytes, unit by unit. In sequence all bytes are in
 * the processor's caches; at random most are not. set: a unit is begun and set, and no thread waits for it. The floor
 * is a store, and the exchange of a byte beside it. wake: two threads take turns; each sets the unit that the other
 * waits for. The floor is a word and the system's futex; the time is that of one turn. blocked: the processor time of
 * one thread's wait, most of it asleep. The floor is a futex.
 *
 * calls: adsmOnceCall() copies pieces to the device, works on them, and copies them back. All calls are made without
 * waits; "floor" is the same calls, each waited for before the next one. Ours is faster by what overlaps. The note has
 * the possible overlap, if the longest of a piece's three parts hid the others. The kernel does enough arithmetic for
 * each word to take as long as a copy. On the backend cpu there is a second row, with a modelled link.
 */
#include "bench.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "adsm_once.h"

static adsmOnce *make(size_t n, size_t size)
{
	adsmOnce *once = adsmOnceAlloc(n, size, NULL);

	bench_check(!once);
	return once;
}

static void put(adsmOnce *once, size_t unit, int value)
{
	*(int *)adsmOnceFresh(once, unit) = value;
	bench_check(adsmOnceSet(once, unit));
}

/* ---- get */

struct reading {
	const adsmOnce *once;
	const uint32_t *order;
	size_t n;
};

/* Nanoseconds each. */
static double get_ours(void *arg)
{
	const struct reading *reading = arg;
	const adsmOnce *once = reading->once;
	double start = bench_now_us();
	int sum = 0;

	for (size_t i = 0; i < reading->n; i++)
		sum += *(const volatile int *)adsmOnceGet(once, reading->order[i]);
	if (sum == 1)
		bench_die("a sum that cannot be");
	return (bench_now_us() - start) * 1e3 / (double)reading->n;
}

static double get_floor(void *arg)
{
	const struct reading *reading = arg;
	const char *data = reading->once->data;
	size_t size = reading->once->size;
	double start = bench_now_us();
	int sum = 0;

	for (size_t i = 0; i < reading->n; i++)
		sum += *(const volatile int *)(data + reading->order[i] * size);
	if (sum == 1)
		bench_die("a sum that cannot be");
	return (bench_now_us() - start) * 1e3 / (double)reading->n;
}

static void get(const char *name, size_t n_units, size_t size, bool random)
{
	size_t n = bench_smoke ? 1000 : 2000000;
	uint32_t *order = bench_host_alloc(n * sizeof(*order));
	struct bench_row row = { .unit = "ns", .target = random ? "" : "+ 3 ns" };
	adsmOnce *once = make(n_units, size);
	struct reading reading = { once, order, n };
	uint64_t state = 42;

	for (size_t i = 0; i < n_units; i++)
		put(once, i, 2);
	for (size_t i = 0; i < n; i++) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		order[i] = (uint32_t)((random ? state >> 33 : i) % n_units);
	}
	bench_compare(&row, 3 * bench_repeat, get_ours, get_floor, &reading);
	snprintf(row.name, sizeof(row.name), "get, %s", name);
	snprintf(row.note, sizeof(row.note), "%+.2f ns", row.ours - row.floor);
	bench_emit(&row);
	free(order);
	bench_check(adsmOnceFree(once));
}

/* ---- set */

static double set_ours(void *arg)
{
	size_t n = *(size_t *)arg;
	adsmOnce *once = make(n, sizeof(int));
	double time;

	memset(once->room, 0, n * sizeof(int));
	time = bench_now_us();
	for (size_t i = 0; i < n; i++)
		put(once, i, 2);
	time = (bench_now_us() - time) * 1e3 / (double)n;
	bench_check(adsmOnceFree(once));
	return time;
}

static double set_floor(void *arg)
{
	size_t n = *(size_t *)arg;
	_Atomic uint8_t *flags = bench_host_alloc(n);
	volatile int *data = bench_host_alloc(n * sizeof(*data));
	double time = bench_now_us();

	for (size_t i = 0; i < n; i++) {
		data[i] = 2;
		atomic_exchange(&flags[i], 2);
	}
	time = (bench_now_us() - time) * 1e3 / (double)n;
	free(flags);
	free((void *)data);
	return time;
}

static void set(void)
{
	size_t n = bench_smoke ? 1000 : 500000;
	struct bench_row row = { .unit = "ns", .name = "set, nobody waits", .target = "" };

	bench_compare(&row, 3 * bench_repeat, set_ours, set_floor, &n);
	bench_emit(&row);
}

/* ---- two threads */

struct turns {
	bool by_futex;
	size_t n;
	adsmOnce *there, *back;
	_Atomic uint32_t words[2];
	pthread_barrier_t barrier;
	cpu_set_t processors[2];
};

static void futex_pass(_Atomic uint32_t *word, uint32_t value)
{
	atomic_store(word, value);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void futex_await(_Atomic uint32_t *word, uint32_t value)
{
	uint32_t now;

	while ((now = atomic_load(word)) < value)
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
}

static void pass(struct turns *turns, int to, size_t i)
{
	if (turns->by_futex)
		futex_pass(&turns->words[to], (uint32_t)i + 1);
	else
		put(to ? turns->back : turns->there, i, 1);
}

static void await(struct turns *turns, int from, size_t i)
{
	if (turns->by_futex)
		futex_await(&turns->words[from], (uint32_t)i + 1);
	else
		bench_check(!adsmOnceGet(from ? turns->back : turns->there, i));
}

static void *answer(void *arg)
{
	struct turns *turns = arg;

	pthread_setaffinity_np(pthread_self(), sizeof(cpu_set_t), &turns->processors[1]);
	pthread_barrier_wait(&turns->barrier);
	for (size_t i = 0; i < turns->n; i++) {
		await(turns, 0, i);
		pass(turns, 1, i);
	}
	return NULL;
}

static pthread_t start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg))
		bench_die("no thread");
	return thread;
}

/* Microseconds of a turn. */
static double take_turns(struct turns *turns)
{
	pthread_t thread;
	cpu_set_t old;
	double time;

	turns->there = make(turns->n, sizeof(int));
	turns->back = make(turns->n, sizeof(int));
	atomic_store(&turns->words[0], 0);
	atomic_store(&turns->words[1], 0);
	pthread_getaffinity_np(pthread_self(), sizeof(old), &old);
	thread = start(answer, turns);
	pthread_setaffinity_np(pthread_self(), sizeof(cpu_set_t), &turns->processors[0]);
	pthread_barrier_wait(&turns->barrier);
	time = bench_now_us();
	for (size_t i = 0; i < turns->n; i++) {
		pass(turns, 0, i);
		await(turns, 1, i);
	}
	time = (bench_now_us() - time) / (double)(2 * turns->n);
	pthread_join(thread, NULL);
	pthread_setaffinity_np(pthread_self(), sizeof(old), &old);
	bench_check(adsmOnceFree(turns->there));
	bench_check(adsmOnceFree(turns->back));
	return time;
}

static double wake_ours(void *arg)
{
	((struct turns *)arg)->by_futex = false;
	return take_turns(arg);
}

static double wake_floor(void *arg)
{
	((struct turns *)arg)->by_futex = true;
	return take_turns(arg);
}

static void wake(void)
{
	struct turns turns = { .n = bench_smoke ? 20 : 500 };
	int processors[2], n = 0;
	cpu_set_t all;

	pthread_barrier_init(&turns.barrier, NULL, 2);
	pthread_getaffinity_np(pthread_self(), sizeof(all), &all);
	for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &all))
			processors[n++] = i;
	for (int apart = 0; apart < n; apart++) {
		struct bench_row row = { .unit = "us", .target = "<= 1.3" };

		for (int i = 0; i < 2; i++) {
			CPU_ZERO(&turns.processors[i]);
			CPU_SET(processors[i && apart], &turns.processors[i]);
		}
		bench_compare(&row, 5 * bench_repeat, wake_ours, wake_floor, &turns);
		snprintf(row.name, sizeof(row.name), "set and wake, %s", apart ? "two processors" : "one processor");
		bench_emit(&row);
	}
}

/* ---- blocked */

struct blocked {
	_Atomic uint32_t word;
	adsmOnce *once;			/* NULL: the word */
	double us;
};

static double thread_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static void *block(void *arg)
{
	struct blocked *blocked = arg;
	double start = thread_us();

	if (blocked->once)
		bench_check(!adsmOnceGet(blocked->once, 0));
	else
		futex_await(&blocked->word, 1);
	blocked->us = thread_us() - start;
	return NULL;
}

static double blocked(bool by_futex)
{
	struct blocked blocked = { .once = by_futex ? NULL : make(1, sizeof(int)) };
	pthread_t thread = start(block, &blocked);

	usleep(bench_smoke ? 1000 : 100000);
	if (by_futex)
		futex_pass(&blocked.word, 1);
	else
		put(blocked.once, 0, 1);
	pthread_join(thread, NULL);
	bench_check(adsmOnceFree(blocked.once));
	return blocked.us;
}

static double blocked_ours(void *arg)
{
	return blocked(false);
}

static double blocked_floor(void *arg)
{
	return blocked(true);
}

/* ---- calls by ranges */

#define LINK "1GB/s,10us"
#define MAX_STEPS (1 << 20)

struct pieces {
	adsmKernel *kernel;
	size_t n, size;			/* how many; bytes of each */
	int words;			/* of a piece */
	int steps;			/* of arithmetic for each word */
	adsmDim grid, block;
};

static uint32_t piece_word(size_t piece, size_t i)
{
	return (uint32_t)(piece * 1000003 + i);
}

static void fill_pieces(const struct pieces *pieces, adsmOnce *from, adsmOnce *to)
{
	for (size_t u = 0; u < pieces->n; u++) {
		uint32_t *words = adsmOnceFresh(from, u);

		for (size_t i = 0; i < (size_t)pieces->words; i++)
			words[i] = piece_word(u, i);
		bench_check(adsmOnceSet(from, u));
	}
	/* All pages are there before the clock starts, where they are written and where they are read. */
	memset(to->room, 0, pieces->n * pieces->size);
	for (size_t at = 0; at < pieces->n * pieces->size; at += 4096)
		(void)((const volatile char *)from->data)[at];
}

/* The first and the last word of each. */
static void check_pieces(const struct pieces *pieces, const adsmOnce *to)
{
	for (size_t u = 0; u < pieces->n; u++)
		for (size_t end = 0; end < 2; end++) {
			const size_t i = end ? (size_t)pieces->words - 1 : 0;
			uint32_t x = piece_word(u, i);

			for (int step = 0; step < pieces->steps; step++)
				x = x * 1664525 + 1013904223;
			if (((const uint32_t *)((const char *)to->data + u * pieces->size))[i] != x)
				bench_die("word %zu of piece %zu is wrong", i, u);
		}
}

/* Milliseconds of all. */
static double call_pieces(const struct pieces *pieces, bool one_by_one)
{
	adsmOnce *from = make(pieces->n, pieces->size), *to = make(pieces->n, pieces->size);
	double time;

	fill_pieces(pieces, from, to);
	time = bench_now_us();
	for (size_t u = 0; u < pieces->n; u++) {
		bench_check(adsmOnceCall(pieces->kernel, pieces->grid, pieces->block, adsmOnceIn(from, u, 1),
					 adsmOnceOut(to, u, 1), adsmVal(pieces->words), adsmVal(pieces->steps)));
		if (one_by_one)
			bench_check(!adsmOnceGet(to, u));
	}
	for (size_t u = 0; u < pieces->n; u++)
		bench_check(!adsmOnceGet(to, u));
	time = (bench_now_us() - time) / 1e3;
	check_pieces(pieces, to);
	bench_check(adsmOnceFree(from));
	bench_check(adsmOnceFree(to));
	return time;
}

static double calls_ours(void *arg)
{
	return call_pieces(arg, false);
}

static double calls_floor(void *arg)
{
	return call_pieces(arg, true);
}

enum { COPY_IN, KERNEL, COPY_OUT, N_PARTS };

/* Milliseconds of each part of a piece, by itself. */
static void measure_parts(const struct pieces *pieces, void *host, void *from, void *to, double ret_ms[N_PARTS])
{
	double times[N_PARTS][5];

	for (int round = 0; round < 5; round++) {
		double start = bench_now_us(), in, run;

		bench_check(adsmCopyToDevice(from, host, pieces->size));
		in = bench_now_us();
		bench_check(adsmCall(pieces->kernel, pieces->grid, pieces->block, adsmPtr(from), adsmPtr(to),
				     adsmVal(pieces->words), adsmVal(pieces->steps)));
		bench_check(adsmSync());
		run = bench_now_us();
		bench_check(adsmCopyToHost(host, to, pieces->size));
		times[COPY_IN][round] = (in - start) / 1e3;
		times[KERNEL][round] = (run - in) / 1e3;
		times[COPY_OUT][round] = (bench_now_us() - run) / 1e3;
	}
	for (int part = 0; part < N_PARTS; part++)
		ret_ms[part] = bench_median(times[part], 5);
}

/* More steps until the kernel takes as long as a copy, then as many as that is. */
static void choose_steps(struct pieces *pieces, double ret_ms[N_PARTS])
{
	void *host = bench_host_alloc(pieces->size);
	void *from = adsmDeviceAlloc(pieces->size), *to = adsmDeviceAlloc(pieces->size);

	bench_check(!from || !to);
	pieces->steps = 1;
	measure_parts(pieces, host, from, to, ret_ms);
	while (pieces->steps < MAX_STEPS && ret_ms[KERNEL] < ret_ms[COPY_IN]) {
		pieces->steps *= 2;
		measure_parts(pieces, host, from, to, ret_ms);
	}
	if (ret_ms[KERNEL] > ret_ms[COPY_IN])
		pieces->steps = (int)(pieces->steps * ret_ms[COPY_IN] / ret_ms[KERNEL]) + 1;
	measure_parts(pieces, host, from, to, ret_ms);
	bench_check(adsmDeviceFree(from));
	bench_check(adsmDeviceFree(to));
	free(host);
}

/* @link: "", or what the name says of it. */
static void calls(const char *link)
{
	struct pieces pieces = { .n = bench_smoke ? 4 : 16, .size = (size_t)(bench_smoke ? 1 : 4) << 20 };
	const unsigned n_blocks = (unsigned)(pieces.size / sizeof(uint32_t) / 256);
	struct bench_row row = { .unit = "ms", .target = *link ? "<= 0.5" : "" };
	double ms[N_PARTS], all = 0, longest = 0;
	adsmModule *module = bench_load("../kernels/bench.adsm", "steps", &pieces.kernel);

	pieces.words = (int)(256 * n_blocks);
	pieces.grid = adsmDim3(n_blocks, 1, 1);
	pieces.block = adsmDim3(256, 1, 1);
	choose_steps(&pieces, ms);
	for (int part = 0; part < N_PARTS; part++) {
		all += ms[part];
		longest = ms[part] > longest ? ms[part] : longest;
	}
	bench_compare(&row, bench_repeat, calls_ours, calls_floor, &pieces);
	snprintf(row.name, sizeof(row.name), "%zu calls of %zu MiB%s", pieces.n, pieces.size >> 20, link);
	snprintf(row.note, sizeof(row.note), "ms each: in %.2f, kernel %.2f, out %.2f; at best %.2f", ms[COPY_IN],
		 ms[KERNEL], ms[COPY_OUT], (all + (double)(pieces.n - 1) * longest) / ((double)pieces.n * all));
	bench_emit(&row);
	bench_check(adsmModuleUnload(module));
	bench_check(adsmShutdown());
}

void bench_once(void)
{
	struct bench_row row = { .unit = "us", .name = "blocked for 100 ms: processor", .target = "" };
	adsmDeviceProps props = { .struct_size = sizeof(props) };

	get("4 B in sequence", 8192, 4, false);
	get("1 KiB in sequence", 256, 1024, false);
	get("64 B at random of 64 MiB", bench_smoke ? 1000 : 1 << 20, 64, true);
	set();
	wake();
	bench_compare(&row, bench_repeat, blocked_ours, blocked_floor, NULL);
	snprintf(row.note, sizeof(row.note), "%.4f %% of the time", row.ours / 1e5 * 100);
	bench_emit(&row);
	bench_check(adsmDeviceInfo(0, &props));
	calls("");
	if (!strcmp(props.backend, "cpu")) {
		bench_check(adsmOption("cpu_link", LINK));
		calls(", link " LINK);
	}
}
