/* SPDX-License-Identifier: MIT */
/*
 * noise.c - the waits of the models, with real threads and the real kernel. Each step may yield the processor, and
 * noise threads take it. The test ends after a number of rounds, however long they take. If there is no progress for
 * HANG_S seconds, it reports a lost wake-up.
 */
#define STEP_REAL_THREADS
#include "step.h"

#include <sched.h>
#include <signal.h>

#include "backends/process/shared.c"
#include "lib/base/once.c"
#include "lib/base/os_lock.c"
#include "backends/process/device/pool.c"

#include "base/log.h"

#include "../check.h"

#define NOISE 3
#define HANG_S 100			/* seconds without a new round: a thread sleeps for ever */

static _Atomic unsigned long rounds;
static unsigned long wanted;
static const char *what = "";
static _Atomic int ends;

_Thread_local bool adsm_crash_in_kernel;
_Thread_local uint64_t adsm_crash_launch;
_Thread_local const struct adsm_kernel_block *adsm_crash_block;

void adsm_crash_thread(void)
{
}

/* ---- steps */

void step_at(const volatile void *word, const char *file, int line, const char *text)
{
	static _Thread_local uint32_t random;

	if (!random)
		random = (uint32_t)adsm_os_thread_id() * 2654435761u | 1;
	random = random * 1664525 + 1013904223;
	if (random >> 28 == 0)
		sched_yield();
}

void step_saw(uint64_t value)
{
}

int step_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns, bool shared, const char *file, int line,
	      const char *text)
{
	step_at(word, file, line, text);
	return (adsm_os_wait)(word, value, timeout_ns, shared);
}

void step_wake(_Atomic uint32_t *word, int n, bool shared, const char *file, int line, const char *text)
{
	step_at(word, file, line, text);
	(adsm_os_wake)(word, n, shared);
}

/* ---- noise, and the check for progress */

static void *make_noise(void *arg)
{
	while (!atomic_load(&ends)) {
		for (volatile int i = 0; i < 3000; i++)
			;
		sched_yield();
	}
	return NULL;
}

static void tell(int signal)
{
	static unsigned long last = ULONG_MAX;
	char text[160];

	if (atomic_load(&rounds) != last) {
		last = atomic_load(&rounds);
		alarm(HANG_S);
		return;
	}
	adsm_format(text, sizeof(text), "%s: nothing goes on after %lu rounds\n", what, last);
	adsm_os_write(2, text, strlen(text));
	_exit(1);
}

static void begin_rounds(const char *name, unsigned long n)
{
	what = name;
	wanted = n;
	atomic_store(&rounds, 0);
	alarm(HANG_S);
}

static void run_all(void *(*const *threads)(void *), size_t n)
{
	pthread_t ids[8];

	for (size_t i = 0; i < n; i++)
		CHECK(!pthread_create(&ids[i], NULL, threads[i], NULL));
	for (size_t i = 0; i < n; i++)
		pthread_join(ids[i], NULL);
	CHECK_EQ(atomic_load(&rounds), wanted);
}

/* ---- the queue of a device: each round has some operations and a wait. Another thread waits, too */

static struct adsm_process_queue queue;
static const _Atomic uint32_t never;

static void *consume(void *arg)
{
	while (adsm_process_queue_next(&queue, 0, false))
		adsm_process_queue_done(&queue, false);
	return NULL;
}

static void *submit(void *arg)
{
	uint64_t seq = 0;

	for (unsigned long i = 0; i < wanted; i++, atomic_fetch_add(&rounds, 1)) {
		for (int k = 0; k < 64; k++)
			seq = adsm_process_queue_submit(&queue, false);
		adsm_process_queue_wait(&queue, seq, &never, i % 2 ? 1000 : 0, false);
	}
	adsm_process_queue_stop(&queue, false);
	return NULL;
}

static void *wait_too(void *arg)
{
	for (uint64_t seq = 7; seq <= wanted * 64; seq += 63)
		while (adsm_process_queue_wait(&queue, seq, &never, 0, false))
			;
	return NULL;
}

/* ---- os.h's lock, and flags */

static struct adsm_lock a_lock = ADSM_LOCK_INIT(ADSM_RANK_HOME);
static unsigned long count;
static _Atomic uint32_t flag[2];

static void *take_lock(void *arg)
{
	struct adsm_sigset old;

	for (unsigned long i = 0; i < wanted / 2; i++) {
		adsm_os_signals_block(&old);
		adsm_lock(&a_lock);
		count++;
		if (i % 64 == 0)
			sched_yield();
		adsm_unlock(&a_lock);
		adsm_os_signals_restore(&old);
		atomic_fetch_add(&rounds, 1);
	}
	return NULL;
}

/* Each thread raises the flag of the other one. */
static void *raise_first(void *arg)
{
	for (unsigned long i = 0; i < wanted; i++, atomic_fetch_add(&rounds, 1)) {
		adsm_os_raise(&flag[0], false);
		adsm_os_await(&flag[1], false);
		atomic_store(&flag[1], 0);
	}
	return NULL;
}

static void *answer(void *arg)
{
	for (unsigned long i = 0; i < wanted; i++) {
		adsm_os_await(&flag[0], false);
		atomic_store(&flag[0], 0);
		adsm_os_raise(&flag[1], false);
	}
	return NULL;
}

/* ---- write-once units: two threads, each waits for the unit that the other one sets */

#define ADDRESS UINT64_C(0x7e8000000000)

static struct adsm_once_table *table;
static struct adsm_once_shared *shared;

static void pass(unsigned long unit)
{
	struct adsm_once_note note = { .address = ADDRESS, .unit = unit, .device = -1, .thread = adsm_os_thread_id() };
	struct adsm_once_wait wait;

	adsm_once_wait_begin(&wait, table, shared, &note);
	while (adsm_once_wait_once(&wait, adsm_once_sleep) == -EAGAIN)
		;
	adsm_once_wait_end(&wait);
}

static void set(unsigned long unit)
{
	adsm_once_fresh(shared, unit);
	CHECK(!adsm_once_set(table, shared, ADDRESS, unit));
}

static void *set_even(void *arg)
{
	for (unsigned long i = 0; i < wanted; i++, atomic_fetch_add(&rounds, 1)) {
		set(2 * i);
		pass(2 * i + 1);
	}
	return NULL;
}

static void *set_odd(void *arg)
{
	for (unsigned long i = 0; i < wanted; i++) {
		pass(2 * i);
		set(2 * i + 1);
		if (i == wanted / 2)
			adsm_once_go_far(table, shared);
	}
	return NULL;
}

static void *watch_all(void *arg)
{
	for (unsigned long i = 0; i < 2 * wanted; i += 3)
		pass(i);
	return NULL;
}

/* ---- the thread pool: launches of a few blocks */

static _Atomic unsigned long n_blocks;
static _Atomic uint64_t block_ns = 1000000;

static void run_block(const struct adsm_kernel_block *block, const void *const *args)
{
	atomic_fetch_add(&n_blocks, 1);
}

static void launch(void)
{
	const struct adsm_pool_launch launch = { .run = run_block, .n = 5, .block_ns = &block_ns,
						 .block = { .grid = { 5, 1, 1 } } };

	CHECK(!adsm_pool_start(3));
	for (unsigned long i = 0; i < wanted; i++, atomic_fetch_add(&rounds, 1)) {
		atomic_store(&block_ns, 1000000);
		CHECK(!adsm_pool_run(&launch));
		CHECK_EQ(atomic_load(&n_blocks), 5 * (i + 1));
	}
}

static void *zeroed(size_t size)
{
	void *p = aligned_alloc(64, (size + 63) & ~(size_t)63);

	CHECK(p);
	return memset(p, 0, size);
}

int main(void)
{
	const unsigned long n = getenv("TEST_FULL") ? 40000 : 2000;
	void *(*const of_queue[])(void *) = { consume, submit, wait_too };
	void *(*const of_lock[])(void *) = { take_lock, take_lock };
	void *(*const of_flags[])(void *) = { raise_first, answer };
	void *(*const of_units[])(void *) = { set_even, set_odd, watch_all };
	pthread_t noise[NOISE];

	signal(SIGALRM, tell);
	for (int i = 0; i < NOISE; i++)
		CHECK(!pthread_create(&noise[i], NULL, make_noise, NULL));
	begin_rounds("the queue", 4 * n);
	run_all(of_queue, 3);
	begin_rounds("the lock", 40 * n);
	run_all(of_lock, 2);
	CHECK_EQ(count, 40 * n);
	begin_rounds("flags", n);
	run_all(of_flags, 2);
	table = zeroed(sizeof(*table));
	shared = zeroed(sizeof(*shared) + 2 * n);
	begin_rounds("units", n);
	run_all(of_units, 3);
	begin_rounds("the pool", n / 4);
	launch();
	CHECK_EQ(atomic_load(&rounds), wanted);
	atomic_store(&ends, 1);
	for (int i = 0; i < NOISE; i++)
		pthread_join(noise[i], NULL);
	return 0;
}
