/* SPDX-License-Identifier: MIT */
/* threads.c - many threads at the same time, and signal handlers, lose no bytes. */
#include "../sanitizers.h"
#include "conform.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#define THREADS 8u

static void run_threads(unsigned n, void *(*run)(void *))
{
	pthread_t threads[THREADS];

	for (unsigned t = 0; t < n; t++)
		CHECK(!pthread_create(&threads[t], NULL, run, (void *)(uintptr_t)t));
	for (unsigned t = 0; t < n; t++)
		CHECK(!pthread_join(threads[t], NULL));
}

/* Objects come and go in all threads while their kernels run. */
static void *churn_thread(void *data)
{
	uint64_t seed = (uintptr_t)data + 100;
	static const unsigned scale[] = { 1, 100, 5000, 50000 };

	for (unsigned round = 0; round < 30; round++) {
		unsigned n = (unsigned)(draw(&seed) % scale[draw(&seed) % 4]) + 1, first = (unsigned)draw(&seed);
		unsigned *a = words(n, first), *b = words(n, 1);

		CALL("increment", n, adsmPtr(a), adsmVal(n));
		if (batch() || draw(&seed) % 2)
			SYNC();
		if (draw(&seed) % 2) {
			CHECK_EQ(a[n / 2], first + n / 2 + 1);
			a[n / 2] = first + n / 2 + 1;
		}
		CALL("add", n, adsmPtr(a), adsmPtr(a), adsmPtr(b), adsmVal(n));
		if (draw(&seed) % 3 == 0) {
			CHECK_OK(adsmFree(b));
			b = words(n, 2 * (first + 1));
			for (unsigned i = 0; i < n; i++)
				b[i] += i;
		}
		if (batch() || draw(&seed) % 2)
			SYNC();
		for (unsigned i = 0; i < n; i++) {
			CHECK_AT(b[i], i, 2 * (first + i + 1));
			CHECK_AT(a[i], i, first + i + 1);
		}
		CHECK_OK(adsmMemcpy(b, a, n * 4));
		CHECK_EQ(b[n - 1], first + n);
		CHECK_OK(adsmFree(a));
		CHECK_OK(adsmFree(b));
	}
	SYNC();
	return NULL;
}

static void churn(void)
{
	run_threads(THREADS, churn_thread);
}

static pthread_barrier_t gate;
static volatile unsigned *shared;
#define SHARED_WORDS 50000u
#define ROUNDS 12u

/* All threads fault on the same blocks: first to read, then to write, each in its own words. */
static void *same_blocks_thread(void *data)
{
	unsigned me = (unsigned)(uintptr_t)data;

	for (unsigned round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&gate);
		for (unsigned i = 0; i < SHARED_WORDS; i += 7)
			CHECK_AT(shared[i], i, i + round * 2 + 1);
		pthread_barrier_wait(&gate);
		for (unsigned i = me; i < SHARED_WORDS; i += THREADS)
			shared[i]++;
		pthread_barrier_wait(&gate);
	}
	return NULL;
}

static void *same_blocks_caller(void *unused)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		CALL("increment", SHARED_WORDS, adsmPtr(shared), adsmVal(SHARED_WORDS));
		SETTLE();
		pthread_barrier_wait(&gate);
		pthread_barrier_wait(&gate);
		pthread_barrier_wait(&gate);
	}
	SYNC();
	return NULL;
}

static void same_blocks(void)
{
	pthread_t caller;

	pthread_barrier_init(&gate, NULL, THREADS + 1);
	shared = words(SHARED_WORDS, 0);
	CHECK(!pthread_create(&caller, NULL, same_blocks_caller, NULL));
	run_threads(THREADS, same_blocks_thread);
	CHECK(!pthread_join(caller, NULL));
	for (unsigned i = 0; i < SHARED_WORDS; i++)
		CHECK_AT(shared[i], i, i + 2 * ROUNDS);
}

#define SWEEPS 60u
#define SWEPT 65536u
static volatile unsigned *swept;
static atomic_uint sweeping;

/* Two threads write interleaved words of the same blocks. */
static void *sweep_thread(void *data)
{
	unsigned me = (unsigned)(uintptr_t)data;

	for (unsigned round = 0; round < SWEEPS; round++)
		for (unsigned i = me; i < SWEPT; i += 2 * 37)
			for (unsigned k = i; k < SWEPT && k < i + 2 * 37; k += 2)
				swept[k]++;
	sweeping--;
	return NULL;
}

static void *increments_thread(void *data)
{
	unsigned n = 3000, calls = 0, *a = words(n, 0);

	while (sweeping) {
		CALL("increment", n, adsmPtr(a), adsmVal(n));
		calls++;
		SYNC();
		CHECK_AT(a[calls % n], calls, calls % n + calls);
		a[0] = calls;
	}
	for (unsigned i = 0; i < n; i++)
		CHECK_AT(a[i], i, i + calls);
	return NULL;
}

/* The kernel of this thread reads the words that the others write. */
static void *reads_thread(void *data)
{
	unsigned n = SWEPT, *b = words(n, 0), last = 0;

	while (sweeping) {
		CALL("copy", n, adsmPtr(swept), adsmPtr(b), adsmVal(n));
		SYNC();
		CHECK(b[17] >= last && b[17] <= SWEEPS);
		last = b[17];
	}
	CALL("copy", n, adsmPtr(swept), adsmPtr(b), adsmVal(n));
	SYNC();
	for (unsigned i = 0; i < n; i++)
		CHECK_AT(b[i], i, SWEEPS);
	return NULL;
}

static void sweep(void *(*caller)(void *))
{
	pthread_t other;

	swept = words(SWEPT, 0);
	for (unsigned i = 0; i < SWEPT; i++)
		swept[i] = 0;
	sweeping = 2;
	kernel("increment");
	CHECK(!pthread_create(&other, NULL, caller, NULL));
	run_threads(2, sweep_thread);
	CHECK(!pthread_join(other, NULL));
	for (unsigned i = 0; i < SWEPT; i++)
		CHECK_AT(swept[i], i, SWEEPS);
	/* The device has all bytes, too. */
	CALL("increment", SWEPT, adsmPtr(swept), adsmVal(SWEPT));
	SYNC();
	for (unsigned i = 0; i < SWEPT; i++)
		CHECK_AT(swept[i], i, SWEEPS + 1);
}

/* Frequent evictions, of runs of blocks. */
static void set_tight(void)
{
	set("rolling_size", "2");
	set("evict_batch", "8K");
}

static void no_lost_updates(void)
{
	set_tight();
	sweep(increments_thread);
}

/* Evictions of single blocks, by the thread that writes. */
static void no_lost_updates_paper(void)
{
	set("rolling_size", "2");
	set("fault_ahead", "0");
	set("evict_batch", "1");
	sweep(increments_thread);
	if (rolling())
		CHECK(stats().evictions > 0);
}

static void writers_against_calls(void)
{
	set_tight();
	sweep(reads_thread);
}

#define RACES 100u
static pid_t winner;
static atomic_int racing;	/* 1: the winner is in its touch */

/* Touches a block while another thread fetches it. The touch must see the fetched bytes. */
static void *lose_races(void *unused)
{
	for (unsigned i = 0; i < RACES; i++) {
		pthread_barrier_wait(&gate);
		while (racing != 2 && !(racing == 1 && asleep(winner)))
			;
		CHECK_EQ(shared[0], i + 1);
		pthread_barrier_wait(&gate);
	}
	return NULL;
}

static void late_to_each(void)
{
	pthread_t loser;

	set("cpu_link", "50GB/s,2ms");	/* slow, so that the winner sleeps */
	pthread_barrier_init(&gate, NULL, 2);
	shared = words(1, 0);
	winner = gettid();
	CHECK(!pthread_create(&loser, NULL, lose_races, NULL));
	for (unsigned i = 0; i < RACES; i++) {
		racing = 0;
		CALL("increment", 1, adsmPtr(shared), adsmVal(1u));
		SYNC();
		pthread_barrier_wait(&gate);
		racing = 1;
		CHECK_EQ(shared[0], i + 1);
		racing = 2;
		pthread_barrier_wait(&gate);
	}
	CHECK(!pthread_join(loser, NULL));
}

static unsigned *piped;
static atomic_bool got_through;

/* Keeps the device busy: there is always an unnamed call that has not ended. */
static void *pipeline(void *unused)
{
	for (unsigned n = 0; !got_through; n++) {
		CALL("increment_any", 100000, adsmPtr(piped), adsmVal(1u));
		if (n == 50)
			pthread_barrier_wait(&gate);
	}
	SYNC();
	return NULL;
}

/* A thread that waits for another thread's calls waits only for those made before. Else it would wait for ever. */
static void get_through(void (*wait)(unsigned *))
{
	unsigned *other = words(1, 0);
	pthread_t caller;

	pthread_barrier_init(&gate, NULL, 2);
	piped = words(1, 0);
	got_through = false;
	CHECK(!pthread_create(&caller, NULL, pipeline, NULL));
	pthread_barrier_wait(&gate);
	wait(other);
	got_through = true;
	CHECK(!pthread_join(caller, NULL));
}

static void wait_touch(unsigned *unused)
{
	CHECK(*(volatile unsigned *)piped > 0);
}

static void wait_copy(unsigned *unused)
{
	unsigned v = 0;

	CHECK_OK(adsmMemcpy(&v, piped, 4));
}

static void wait_set(unsigned *unused)
{
	CHECK_OK(adsmMemset(piped, 0, 4));
}

static void wait_free(unsigned *other)
{
	CHECK_OK(adsmFree(other));
}

static void pipelined(void)
{
	get_through(wait_touch);
	get_through(wait_copy);
	get_through(wait_set);
	get_through(wait_free);
}

static void *leave_thread(void *data)
{
	unsigned **list = data;

	CALL("late_increment", 1, adsmVal(SPIN / 20), adsmPtr(*list), adsmVal(1000u));
	return NULL;
}

static pthread_key_t late_key;
static unsigned late_rounds;

/* In the third round the library has already forgotten the thread: its own destructor comes before. */
static void sync_late(void *data)
{
	const unsigned **list = data;

	if (++late_rounds < 3) {
		CHECK(!pthread_setspecific(late_key, data));
		return;
	}
	SYNC();
	CHECK_EQ(**list, 23);
}

static void *leave_and_sync(void *data)
{
	leave_thread(data);
	leave_thread(data);
	CHECK(!pthread_setspecific(late_key, data));
	return NULL;
}

/* Threads may end without a sync after their calls, or with one in a destructor. */
static void leave(void)
{
	unsigned *a = words(1000, 0);
	pthread_t thread;

	for (unsigned i = 0; i < 20; i++) {
		CHECK(!pthread_create(&thread, NULL, leave_thread, &a));
		CHECK(!pthread_join(thread, NULL));
	}
	/* The device runs all calls in order. */
	CALL("increment", 1000, adsmPtr(a), adsmVal(1000u));
	SYNC();
	CHECK_EQ(a[0], 21);
	CHECK_EQ(a[999], 999 + 21);
	CHECK(!pthread_key_create(&late_key, sync_late));	/* its destructor comes after the library's */
	CHECK(!pthread_create(&thread, NULL, leave_and_sync, &a));
	CHECK(!pthread_join(thread, NULL));
	CHECK_EQ(late_rounds, 3);
	CHECK_OK(adsmFree(a));
}

static volatile unsigned *counter;
static volatile sig_atomic_t ticks;

static void on_tick(int signal)
{
	counter[ticks % 2 * 20000]++;
	ticks++;
}

/* A timer's handler that touches shared memory while the library runs, at any point of its code. */
static void ticking(void)
{
	struct itimerval each = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	unsigned n = 20000, *a, rounds = 0, calls = 0;
	unsigned *far;

	if (WITH_TSAN)
		skip("ThreadSanitizer runs handlers of signals that are blocked");
	counter = words(20001, 0);
	counter[20000] = 0;
	far = words(20001, 0);
	a = words(n, 0);
	kernel("increment");
	signal(SIGALRM, on_tick);
	CHECK(!setitimer(ITIMER_REAL, &each, NULL));
	while (ticks < 300 && rounds++ < 3000) {
		unsigned *b = words(n, rounds);

		CALL("increment", n, adsmPtr(a), adsmVal(n));
		calls++;
		SYNC();
		for (unsigned i = 0; i < n; i += 100)
			CHECK_AT(a[i], i, i + calls);
		/* Except with batch, a call closes the handler's own object, too. */
		if (!batch()) {
			CALL("copy", 20001, adsmIn(counter), adsmPtr(far), adsmVal(20001u));
			SYNC();
		}
		CHECK_OK(adsmMemcpy(b, a, n * 4));
		CHECK_EQ(b[n - 1], n - 1 + calls);
		CHECK_OK(adsmFree(b));
	}
	CHECK(!setitimer(ITIMER_REAL, &never, NULL));
	CHECK(ticks > 0);
	CHECK_EQ(counter[0] + counter[20000], ticks);
}

static const struct conform_case cases[] = {
	CASE("churn", churn),
	CASE("same-blocks", same_blocks),
	CASE("no-lost-updates", no_lost_updates),
	CASE("no-lost-updates-paper", no_lost_updates_paper),
	FAULT_CASE("writers-against-calls", writers_against_calls),
	FAULT_CASE("late-to-each", late_to_each),
	FAULT_CASE("pipelined", pipelined),
	CASE("leave", leave),
	CASE("ticking", ticking),
};
CONFORM_MAIN(cases)
