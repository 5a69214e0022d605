/* SPDX-License-Identifier: MIT */
/* oversubscribe.c - objects that are larger, all together, than the device's memory. */
#include "conform.h"

#include <adsm_prefetch.h>
#include <adsm_queue.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N 20			/* objects; the device has room for 7 or 8 */

static size_t size, n_words;	/* of an object */
static unsigned *p[N];

/* Start the library with a small device. The objects are an eighth of its memory. */
static void start(void)
{
	static const char *const options[] = { "cpu_memory_size", "scratchpad_memory_size", "cluster_memory_size",
					       "opencl_memory_size" };
	adsmDeviceProps props;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		set(options[i], "4M");
	props = device_props();
	if (props.unified || !strcmp(props.memory, "view"))
		skip("the device's objects always have memory");
	CHECK(props.memory_size <= (size_t)64 << 20);
	size = props.memory_size / 8;
	n_words = size / sizeof(unsigned);
}

static unsigned value_of(size_t object, size_t word)
{
	return (unsigned)(object * 0x1000000 + word);
}

/* All words of p[i] are what the CPU wrote to p[@first], plus @more. */
static void expect_of(size_t i, size_t first, unsigned more)
{
	for (size_t k = 0; k < n_words; k++)
		CHECK_AT(p[i][k], k, value_of(first, k) + more);
}

static void expect(size_t i, unsigned more)
{
	expect_of(i, i, more);
}

/* All are allocated before the first is written: so the library knows that not all of them fit. */
static void make(size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		p[i] = alloc(size);
	for (size_t i = first; i < end; i++)
		for (size_t k = 0; k < n_words; k++)
			p[i][k] = value_of(i, k);
}

static void increment(size_t i)
{
	CALL("increment", n_words, adsmPtr(p[i]), adsmVal((unsigned)n_words));
}

static void free_all(size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		CHECK_OK(adsmFree(p[i]));
}

/* Calls on all objects, again and again: each gets its bytes back, at the same address. */
static void rounds(void)
{
	adsmStats before;
	uint64_t memory_free;

	start();
	memory_free = device_props().memory_free;
	make(0, N);
	/* adsmAlloc() and the CPU's writes take no device memory, which the calls would miss. */
	CHECK_EQ(device_props().memory_free, memory_free);
	for (unsigned round = 1; round <= 3; round++) {
		for (size_t i = 0; i < N; i++)
			increment(i);
		SETTLE();
		for (size_t i = round % 2; i < N; i += 2)
			expect(i, round);
	}
	SYNC();
	for (size_t i = 0; i < N; i++)
		expect(i, 3);
	before = stats();
	CHECK(before.displaced >= 3 * N - 8 && before.displaced <= 3 * N);
	CHECK(before.displaced_bytes <= before.displaced * size);
	/* What fits is not moved any more. */
	for (unsigned round = 0; round < 3; round++)
		for (size_t i = N - 5; i < N; i++)
			increment(i);
	SYNC();
	CHECK_EQ(stats().displaced, before.displaced);
	for (size_t i = 0; i < N; i++)
		expect(i, i < N - 5 ? 3 : 6);
	free_all(0, N);
	unload();
	CHECK_OK(adsmShutdown());
}

/* The object that calls have not used for the longest time goes first. */
static void order(void)
{
	size_t n = 0;

	start();
	make(0, N);
	while (!stats().displaced)
		increment(n++);
	CHECK(n == 8 || n == 9);
	CHECK_EQ(object_stats(p[0]).displaced, 1);
	for (size_t i = 1; i < n; i++)
		CHECK_EQ(object_stats(p[i]).displaced, 0);
	/* p[1] is now the last one. */
	increment(1);
	increment(n);
	CHECK_EQ(object_stats(p[1]).displaced, 0);
	CHECK_EQ(object_stats(p[2]).displaced, 1);
	increment(2);
	CHECK_EQ(object_stats(p[3]).displaced, 1);
	SYNC();
	expect(0, 1);
	expect(1, 2);
	expect(2, 2);
	expect(3, 1);
	free_all(0, N);
}

/* Nothing is fetched that the host has, and nothing is sent that the kernel overwrites. */
static void bytes(void)
{
	adsmStats before;
	unsigned *to;

	start();
	make(0, N);
	to = words(n_words, 0);
	for (size_t i = 0; i < N; i++)
		CALL("copy", n_words, adsmPtr(p[i]), adsmPtr(to), adsmVal((unsigned)n_words));
	SYNC();
	before = stats();
	CHECK(before.displaced);
	/* adsmSync() fetches all that kernels may have written, under batch. */
	CHECK_EQ(before.displaced_bytes, 0);
	CHECK_EQ(before.d2h_bytes, batch() ? size : 0);
	CHECK_EQ(before.h2d_bytes, N * size);
	for (size_t k = 0; k < n_words; k++)
		CHECK_AT(to[k], k, value_of(N - 1, k));
	/* p[0] has gone, and comes back without its bytes. */
	before = stats();
	CHECK(object_stats(p[0]).displaced);
	CALL("copy", n_words, adsmPtr(p[N - 1]), adsmPtr(p[0]), adsmVal((unsigned)n_words));
	SYNC();
	CHECK_EQ(stats().h2d_bytes - before.h2d_bytes, batch() ? size : 0);
	for (size_t k = 0; k < n_words; k++)
		CHECK_AT(p[0][k], k, value_of(N - 1, k));
	CHECK_OK(adsmFree(to));
	free_all(0, N);
}

/* A call whose own objects do not fit fails, and nothing has changed. */
static void too_many(void)
{
	adsmArg args[2 + N];
	adsmStats before;

	start();
	make(0, N);
	for (size_t i = 0; i < 5; i++)
		increment(i);
	SYNC();
	args[0] = adsmPtr(p[0]);
	args[1] = adsmVal((unsigned)n_words);
	for (size_t i = 1; i < N; i++)
		args[1 + i] = adsmUse(p[i], ADSM_ACCESS_IN);
	before = stats();
	CHECK_ERROR(adsmCallArgs(kernel("increment"), blocks(n_words), lanes(), args, 1 + N), ENOMEM);
	CHECK_SAYS("'increment'");
	CHECK_SAYS("bytes of device memory");
	CHECK_EQ(stats().displaced, before.displaced);
	CHECK_EQ(stats().h2d_bytes, before.h2d_bytes);
	CHECK_EQ(stats().d2h_bytes, before.d2h_bytes);
	CHECK_EQ(stats().calls, before.calls);
	for (size_t i = 0; i < N; i++)
		expect(i, i < 5);
	/* Six of them fit. */
	CHECK_OK(adsmCallArgs(kernel("increment"), blocks(n_words), lanes(), args, 7));
	SYNC();
	for (size_t i = 0; i < N; i++)
		expect(i, (i < 5) + !i);
	free_all(0, N);
}

/* An unnamed call uses all objects. */
static void unnamed(void)
{
	start();
	make(0, 5);
	CALL("increment_any", n_words, adsmPtr(p[2]), adsmVal((unsigned)n_words));
	SETTLE();
	for (size_t i = 0; i < 5; i++)
		expect(i, i == 2);
	make(5, N);
	CHECK_ERROR(adsmCall(kernel("increment_any"), blocks(n_words), lanes(), adsmPtr(p[2]),
			     adsmVal((unsigned)n_words)), ENOMEM);
	SETTLE();
	for (size_t i = 0; i < N; i++)
		expect(i, i == 2);
	free_all(6, N);
	CALL("increment_any", n_words, adsmPtr(p[5]), adsmVal((unsigned)n_words));
	SETTLE();
	for (size_t i = 0; i < 6; i++)
		expect(i, i == 2 || i == 5);
	free_all(0, 6);
}

/* An object that is larger than the device is refused, and so is each if that is wanted. */
/* The @nth operation of a kind fails, and works when the library tries it again. Nothing has failed for the program:
 * the last error is still the one from before. */
static void fail_once(const char *op, int nth)
{
	char plan[64];

	snprintf(plan, sizeof(plan), "fail=%d,once,ops=%s", nth, op);
	set("wrap", plan);
	start();
	CHECK_ERROR(adsmFree((void *)8), EINVAL);
	make(0, 2);
	increment(0);
	increment(1);
	SYNC();
	expect(0, 1);
	expect(1, 1);
	CHECK_SAYS("0x8");
	free_all(0, 2);
	unload();
	CHECK_OK(adsmShutdown());
}

static void refused(void)
{
	void *all[N];
	size_t n = 0;

	start();
	CHECK_NULL(adsmAlloc(8 * size + 1), ENOMEM);
	CHECK_SAYS("too large");
	CHECK_OK(adsmFree(alloc(7 * size)));
	CHECK_OK(adsmShutdown());
	set("oversubscribe", "off");
	while (n < N && (all[n] = adsmAlloc(size)))
		n++;
	CHECK_EQ(errno, ENOMEM);
	CHECK(n == 7 || n == 8);
	while (n)
		CHECK_OK(adsmFree(all[--n]));
	CHECK_OK(adsmShutdown());
	set("oversubscribe", "on");
	/* Another object makes room. */
	fail_once("alloc", 2);
	if (batch()) {
		fail_once("launch", 1);
		fail_once("to_device", 1);
	}
}

/* Device-only memory, and objects whose address the program has, stay on the device. */
static void stays(void)
{
	unsigned *d = NULL, i;
	uint64_t address = 0;

	start();
	make(0, N);
	if (device_props().memory_free < 7 * size)
		skip("the device has no room for seven objects");
	d = adsmDeviceAlloc(3 * size);
	CHECK(d);
	CHECK_OK(adsmCopyToDevice(d, p[7], size));
	increment(0);
	address = adsmSafe(p[0]);
	for (unsigned round = 0; round < 2; round++)
		for (i = 1; i < N; i++)
			increment(i);
	SYNC();
	CHECK_EQ(object_stats(p[0]).displaced, address ? 0 : 1);
	CHECK(object_stats(p[1]).displaced >= 1);
	if (address)
		CHECK_EQ(adsmSafe(p[0]), address);
	/* Only calls make room: an object without device memory has no address while the device is full. */
	for (i = N - 1; address && i > 0 && adsmSafe(p[i]); i--)
		;
	CHECK(!address || (i > 0 && i < N - 2));
	if (address) {
		CHECK_EQ(errno, ENOMEM);
		CHECK_ERROR(adsmCall(kernel("increment"), blocks(n_words), lanes(), adsmPtr(p[i]),
				     adsmVal((unsigned)n_words)), ENOMEM);
		CHECK_SAYS("device address");
	}
	CHECK_OK(adsmDeviceFree(d));
	increment(N - 1);
	SYNC();
	for (i = 0; i < N; i++)
		expect(i, (i ? 2 : 1) + (i == N - 1));
	free_all(0, N);
}

/* Copies and fills of objects with device memory and without. */
static void copies(void)
{
	start();
	for (size_t i = 0; i < N; i++) {
		p[i] = alloc(size);
		CHECK_OK(adsmMemset(p[i], 0, size));
	}
	for (size_t i = 0; i < N; i++) {
		increment(i);
		SETTLE();
		for (size_t k = 0; k < n_words; k += 1000)
			CHECK_AT(p[i][k], k, 1);
	}
	memset(p[0], 7, size);
	CHECK_OK(adsmMemcpy(p[N - 1], p[0], size));
	CHECK_OK(adsmMemcpy(p[1], p[N - 2], size));
	CHECK_OK(adsmMemset((char *)p[2] + 100, 9, size - 200));
	for (size_t i = 0; i < N; i++)
		increment(i);
	SYNC();
	for (size_t k = 0; k < n_words; k++) {
		CHECK_AT(p[0][k], k, 0x07070708);
		CHECK_AT(p[N - 1][k], k, 0x07070708);
		CHECK_AT(p[1][k], k, 2);
		CHECK_AT(p[2][k], k, k < 25 || k >= n_words - 25 ? 2 : 0x0909090a);
	}
	free_all(0, N);
}

/* Views stay as they are: what the program holds, and what it has read, it reads on without a fault. */
static void views(void)
{
	uint64_t signals;

	start();
	make(0, N);
	increment(0);
	SYNC();
	CHECK_OK(adsmHold(p[0], size, ADSM_ACCESS_INOUT));
	signals = stats().signals;
	for (size_t i = 1; i < N; i++)
		increment(i);
	SYNC();
	CHECK_EQ(object_stats(p[0]).displaced, 1);
	for (size_t k = 0; k < n_words; k++)
		p[0][k]++;
	expect(0, 2);
	CHECK_EQ(stats().signals, signals);
	CHECK_ERROR(adsmCall(kernel("increment"), blocks(n_words), lanes(), adsmPtr(p[0]), adsmVal((unsigned)n_words)),
		    EBUSY);
	CHECK_OK(adsmUnhold(p[0], size));
	increment(0);
	SYNC();
	expect(0, 3);
	free_all(0, N);
}

static atomic_bool reading;

static void *read_into(void *arg)
{
	const int *ends = arg;

	reading = true;
	CHECK_EQ(read(ends[0], p[0], size / 2), 100);
	return NULL;
}

/* While the system writes an object, the object stays. */
static void input(void)
{
	char text[100];
	pthread_t thread;
	int ends[2];

	start();
	memset(text, 5, sizeof(text));
	CHECK_OK(pipe(ends));
	make(0, N);
	increment(0);
	SYNC();
	CHECK_OK(pthread_create(&thread, NULL, read_into, ends));
	while (!reading)
		sched_yield();
	for (unsigned round = 0; round < 2; round++)
		for (size_t i = 1; i < N; i++)
			increment(i);
	SYNC();
	CHECK_EQ(write(ends[1], text, sizeof(text)), sizeof(text));
	CHECK_OK(pthread_join(thread, NULL));
	for (size_t k = 0; k < n_words; k++)
		CHECK_AT(p[0][k], k, k < 25 ? 0x05050505 : value_of(0, k) + 1);
	for (size_t i = 1; i < N; i++)
		expect(i, 2);
	free_all(0, N);
}

#define THREADS 4
#define TURNS 30

/* Each thread has objects of its own. */
static void *work(void *arg)
{
	const size_t thread = (size_t)arg;
	uint64_t state = thread;
	unsigned more[N] = { 0 };

	for (unsigned turn = 0; turn < TURNS; turn++) {
		const size_t i = thread + THREADS * (draw(&state) % (N / THREADS)), k = draw(&state) % n_words;

		increment(i);
		more[i]++;
		if (draw(&state) % 2) {
			SETTLE();
			CHECK_AT(p[i][k], k, value_of(i, k) + more[i]);
		}
	}
	SYNC();
	for (size_t i = thread; i < N; i += THREADS)
		expect(i, more[i]);
	return NULL;
}

static atomic_int freer;
static atomic_bool freed, called;

static void *free_large(void *large)
{
	freer = gettid();
	CHECK_OK(adsmFree(large));
	freed = true;
	while (!called)		/* asleep() needs the thread */
		sched_yield();
	return NULL;
}

/* A call needs the memory of an object that another thread frees, and that a kernel of another queue still uses. */
static void take_from_freer(void)
{
	adsmQueue *queue = adsmQueueCreate();
	unsigned *large[2];
	pthread_t thread;

	CHECK(queue);
	for (size_t i = 0; i < 2; i++) {
		large[i] = alloc(5 * size);
		large[i][0] = 0;
	}
	CALL("increment", 1, adsmPtr(large[0]), adsmVal(1u));
	CHECK_OK(adsmQueueSet(queue));
	CALL("late_increment", 1, adsmVal(10 * SPIN), adsmPtr(large[0]), adsmVal(1u));
	CHECK_OK(adsmQueueSet(NULL));
	CHECK_OK(pthread_create(&thread, NULL, free_large, large[0]));
	while (!freer || (!freed && !asleep(freer)))
		sched_yield();
	CALL("increment", 1, adsmPtr(large[1]), adsmVal(1u));
	called = true;
	CHECK_OK(pthread_join(thread, NULL));
	SYNC();
	CHECK_EQ(large[1][0], 1);
	CHECK_OK(adsmFree(large[1]));
	CHECK_OK(adsmQueueDestroy(queue));
}

static void threads(void)
{
	pthread_t all[THREADS];

	start();
	make(0, N);
	CHECK(kernel("increment"));
	for (size_t t = 0; t < THREADS; t++)
		CHECK_OK(pthread_create(&all[t], NULL, work, (void *)t));
	for (size_t t = 0; t < THREADS; t++)
		CHECK_OK(pthread_join(all[t], NULL));
	CHECK(stats().displaced);
	free_all(0, N);
	take_from_freer();
}

static atomic_bool ended;

/* Prefetches in both directions, of objects that calls displace meanwhile. */
static void *prefetch(void *arg)
{
	uint64_t state = 5;

	while (!ended) {
		adsmEvent event;
		int error;

		CHECK_OK(adsmPrefetch(p[draw(&state) % N], size, draw(&state) % 4 ? 0 : ADSM_HOST, &event));
		error = adsmEventWait(event);
		CHECK(!error || error == -ENOMEM);
	}
	return NULL;
}

static void prefetched(void)
{
	unsigned more[N] = { 0 };
	uint64_t state = 6;
	pthread_t thread;

	start();
	make(0, N);
	CHECK(kernel("increment"));
	CHECK_OK(pthread_create(&thread, NULL, prefetch, NULL));
	for (unsigned turn = 0; turn < 150; turn++) {
		const size_t i = draw(&state) % N;

		increment(i);
		more[i]++;
		if (draw(&state) % 3)
			continue;
		SETTLE();
		for (size_t k = 0; k < n_words; k += 700)
			p[i][k]++, p[i][k]--;
	}
	ended = true;
	CHECK_OK(pthread_join(thread, NULL));
	SYNC();
	CHECK(stats().displaced);
	for (size_t i = 0; i < N; i++)
		expect(i, more[i]);
	free_all(0, N);
}

/*
 * The device's process is killed at any moment, while calls of several queues run. What calls and copies had made
 * before, and what the host had, is there.
 */
static void kill_once(uint64_t state)
{
	const size_t when = draw(&state) % 60;
	adsmQueue *queues[4] = { NULL };
	unsigned more[N] = { 0 }, pending[N] = { 0 };
	size_t first[N];
	int error = 0;
	pid_t pid;

	start();
	pid = device_process();
	if (!pid)
		skip("the device is not a process of this machine");
	make(0, N);
	for (size_t i = 1; i < 4; i++)
		CHECK((queues[i] = adsmQueueCreate()));
	for (size_t i = 0; i < N; i++)
		first[i] = i;
	CHECK(kernel("increment"));
	for (size_t turn = 0; !error && turn < 200; turn++) {
		const size_t i = draw(&state) % N, from = draw(&state) % N;

		if (turn == when)
			CHECK_OK(kill(pid, SIGKILL));
		if (!(draw(&state) % 6) && i != from && !pending[i] && !pending[from]) {
			pending[i] = 1;
			error = adsmMemcpy(p[i], p[from], size);
			if (error)
				break;
			pending[i] = 0;
			first[i] = first[from];
			more[i] = more[from];
			continue;
		}
		CHECK_OK(adsmQueueSet(queues[draw(&state) % 4]));
		error = adsmCall(kernel("increment"), blocks(n_words), lanes(), adsmPtr(p[i]),
				 adsmVal((unsigned)n_words));
		pending[i] += !error;
		if (error || draw(&state) % 3)
			continue;
		error = adsmSync();
		for (size_t k = 0; k < N && !error; k++) {
			more[k] += pending[k];
			pending[k] = 0;
		}
	}
	CHECK_EQ(error, -ENODEV);
	for (size_t i = 0; i < N; i++)
		if (!pending[i])
			expect_of(i, first[i], more[i]);
}

static void killed(void)
{
	kill_often(kill_once, getenv("TEST_FULL") ? 70 : 3);
}

/*
 * The same with a queue for each thread, prefetches in both directions, and objects that only kernels of all threads
 * read. Each thread has objects of its own, so it knows what its calls made of them.
 */
#define SHARED 4		/* the first objects are inputs of all threads */

static unsigned made[N], pending[N];
static atomic_uint n_turns, n_moved;
static unsigned kill_at;
static pid_t victim;

static int one_turn(size_t thread, uint64_t *state)
{
	const size_t i = SHARED + thread + THREADS * (draw(state) % ((N - SHARED) / THREADS));
	const unsigned *input = p[draw(state) % SHARED];
	int error;

	if (atomic_fetch_add(&n_turns, 1) == kill_at) {
		/* The prefetcher may have had no processor yet. The other threads go on meanwhile. */
		while (!n_moved)
			sched_yield();
		CHECK_OK(kill(victim, SIGKILL));
	}
	/* Calls of other queues begin and end during a long one. */
	if (thread)
		error = adsmCall(kernel("increment"), blocks(n_words), lanes(), adsmPtr(p[i]),
				 adsmVal((unsigned)n_words), adsmUse(input, ADSM_ACCESS_IN));
	else
		error = adsmCall(kernel("late_increment"), blocks(n_words), lanes(), adsmVal(SPIN / 10), adsmPtr(p[i]),
				 adsmVal((unsigned)n_words), adsmUse(input, ADSM_ACCESS_IN));
	pending[i] += !error;
	if (error || draw(state) % 3)
		return error;
	error = adsmSync();
	for (size_t k = SHARED + thread; k < N && !error; k += THREADS) {
		made[k] += pending[k];
		pending[k] = 0;
	}
	return error;
}

static void *work_until_killed(void *arg)
{
	const size_t thread = (size_t)arg;
	uint64_t state = kill_at * THREADS + thread;
	adsmQueue *queue = thread ? adsmQueueCreate() : NULL;
	int error;

	CHECK(!thread == !queue);
	CHECK_OK(adsmQueueSet(queue));
	do
		error = one_turn(thread, &state);
	while (!error);
	CHECK_EQ(error, -ENODEV);
	/* On clusters mpirun or the node's keeper may report first that the node was killed. */
	CHECK_SAYS(strstr(adsmLastError(), "mpirun") || strstr(adsmLastError(), "node 0 (pid ") ? "Killed" : "device");
	return NULL;
}

static void *prefetch_until_killed(void *arg)
{
	uint64_t state = kill_at;
	adsmEvent event;
	int error;

	(void)arg;
	do {
		error = adsmPrefetch(p[draw(&state) % N], size, draw(&state) % 16 ? 0 : ADSM_HOST, &event);
		if (!error)
			error = adsmEventWait(event);
		n_moved += !error;
	} while (!error || error == -ENOMEM);
	CHECK_EQ(error, -ENODEV);
	return NULL;
}

static void kill_queues_once(uint64_t state)
{
	pthread_t all[THREADS], prefetcher;

	start();
	victim = device_process();
	if (!victim)
		skip("the device is not a process of this machine");
	make(0, N);
	CHECK(kernel("increment"));
	kill_at = 40 + (unsigned)(draw(&state) % 60);
	CHECK_OK(pthread_create(&prefetcher, NULL, prefetch_until_killed, NULL));
	for (size_t t = 0; t < THREADS; t++)
		CHECK_OK(pthread_create(&all[t], NULL, work_until_killed, (void *)t));
	for (size_t t = 0; t < THREADS; t++)
		CHECK_OK(pthread_join(all[t], NULL));
	CHECK_OK(pthread_join(prefetcher, NULL));
	CHECK(n_moved);
	CHECK(stats().displaced);
	for (size_t i = 0; i < N; i++) {
		if (pending[i])
			continue;
		expect(i, made[i]);
		/* It is the CPU's now. */
		p[i][0]++;
		CHECK_EQ(p[i][0], value_of(i, 0) + made[i] + 1);
	}
}

static void killed_queues(void)
{
	kill_often(kill_queues_once, !getenv("TEST_FULL") ? 4 : rolling() ? 200 : 50);
}

static const struct conform_case cases[] = {
	CASE("oversubscribe-rounds", rounds),
	CASE("oversubscribe-order", order),
	CASE("oversubscribe-bytes", bytes),
	CASE("oversubscribe-too-many", too_many),
	CASE("oversubscribe-unnamed", unnamed),
	CASE("oversubscribe-refused", refused),
	CASE("oversubscribe-stays", stays),
	CASE("oversubscribe-copies", copies),
	FAULT_CASE("oversubscribe-views", views),
	CASE("oversubscribe-input", input),
	CASE("oversubscribe-threads", threads),
	CASE("oversubscribe-prefetched", prefetched),
	CASE("oversubscribe-killed", killed),
	CASE("oversubscribe-killed-queues", killed_queues),
};
CONFORM_MAIN(cases)
