/* SPDX-License-Identifier: MIT */
/* test_locks.c - the locks and barriers of tasks, in this process: no worker is bypassed more often than promised, no
 * worker that runs is taken for stopped, and locks guard what they guard. */
#include "process/device/task.h"
#include "process/device/task_lock.h"

#include "base/os.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>

static char text[512];			/* what was said last */
#define CHECK_MORE text
#include "../check.h"

#define ACQUIRES 100000
#define ROUNDS 120
#define LOCKS 8

#define LOCK(id) worker->calls->lock(worker, (id))
#define UNLOCK(id) worker->calls->unlock(worker, (id))
#define BARRIER() worker->calls->barrier(worker)

static unsigned long guarded[LOCKS];	/* plain: locks alone guard them */
static unsigned got[ADSM_TASK_WORKERS_MAX];
static unsigned n_workers, n_acquires;
static uint64_t counts[ADSM_TASK_N_COUNTS];
static struct adsm_task_record record;

static int run(adsm_task_run *task, unsigned n)
{
	struct adsm_pool_launch launch = {
		.task = task, .n = n, .record = &record, .block = { .grid = { n, 1, 1 }, .block = { 1, 1, 1 } },
	};

	_Static_assert(sizeof(text) >= ADSM_PROCESS_TEXT, "it has room");
	*text = '\0';
	n_workers = n;
	memset(guarded, 0, sizeof(guarded));
	memset(got, 0, sizeof(got));
	return adsm_task_run_all(&launch, "test", NULL, counts, text);
}

/* ---- no worker starves, although the holder takes a lock again and again without sleeping */

static void hog(struct adsm_task_worker *worker, const void *const *args)
{
	BARRIER();
	for (unsigned i = 0; i < n_acquires / n_workers; i++) {
		LOCK(1);
		guarded[1]++;
		/* Where there is one processor, others come while it is held. */
		if (i % 256 == worker->index % 256)
			sched_yield();
		got[worker->index]++;
		UNLOCK(1);
	}
}

static void test_starvation(void)
{
	static const unsigned sizes[] = { 2, 4, 32 };

	for (size_t i = 0; i < 3; i++) {
		const unsigned n = sizes[i];

		n_acquires = ACQUIRES;
		CHECK_OK(run(hog, n));
		CHECK_EQ(guarded[1], n_acquires / n * n);
		CHECK_EQ(counts[ADSM_TASK_LOCKS], n_acquires / n * n);
		CHECK_EQ(counts[ADSM_TASK_WORKERS], n);
		for (unsigned w = 0; w < n; w++)
			CHECK_AT(got[w], w, n_acquires / n);
		CHECKF(adsm_task_bypassed() <= ADSM_TASK_BYPASS_MAX, "%lu", (unsigned long)adsm_task_bypassed());
		printf("%u workers: %lu waits, %lu handed over, bypassed %lu times at most\n", n,
		       (unsigned long)counts[ADSM_TASK_LOCK_WAITS], (unsigned long)counts[ADSM_TASK_HANDOVERS],
		       (unsigned long)adsm_task_bypassed());
	}
}

/* ---- a waiting worker: until it gets the lock, others may have it that number of times, and no more, however many
 * wait */

static unsigned n_waiting;		/* workers 1 to this; the others take the lock again and again */
static _Atomic uint32_t in_queue, n_got;	/* how many of them */
static unsigned taken;			/* since all were in the queue */

static void await_queue(uint32_t n)
{
	uint32_t now;

	while ((now = atomic_load(&in_queue)) < n)
		adsm_os_wait(&in_queue, now, 0, false);
}

static void bypass(struct adsm_task_worker *worker, const void *const *args)
{
	const unsigned me = worker->index;

	if (!me)
		LOCK(2);
	BARRIER();
	if (me && me <= n_waiting) {
		/* One after the other, so that their places are known. */
		await_queue(me - 1);
		LOCK(2);
		got[me] = taken++;
		atomic_fetch_add(&n_got, 1);
		UNLOCK(2);
		return;
	}
	for (unsigned i = 1; !me && i <= n_waiting; i++) {
		while (atomic_load(&adsm_task_threads[i]->waits_for) != 2)
			sched_yield();
		atomic_store(&in_queue, i);
		adsm_os_wake(&in_queue, INT_MAX, false);
	}
	await_queue(n_waiting);
	if (!me)
		UNLOCK(2);
	while (atomic_load(&n_got) < n_waiting) {
		LOCK(2);
		taken++;
		UNLOCK(2);
	}
}

static void test_bypass(void)
{
	static const unsigned sizes[][2] = { { 2, 1 }, { 2, 1 }, { 7, 6 }, { 30, 26 } };	/* workers, waiting */
	unsigned most = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		const unsigned *size = sizes[round % 4];

		n_waiting = size[1];
		taken = 0;
		atomic_store(&in_queue, 0);
		atomic_store(&n_got, 0);
		CHECK_OK(run(bypass, size[0]));
		for (unsigned i = 1; i <= n_waiting; i++) {
			CHECKF(got[i] < i * (ADSM_TASK_BYPASS_MAX + 1), "%u as number %u", got[i], i);
			most = got[i] / i > most ? got[i] / i : most;
		}
	}
	printf("who waited was passed by %u times for each place in the queue at most\n", most);
}

/* ---- whatever waits for whatever: what moves on is no deadlock */

static void mix(struct adsm_task_worker *worker, const void *const *args)
{
	unsigned random = worker->index * 2654435761u + 1;

	for (unsigned round = 0; round < ROUNDS; round++) {
		random = random * 1664525u + 1013904223u;
		for (unsigned id = random >> 8 & 3; id < LOCKS; id += 2) {
			LOCK(id);
			guarded[id]++;
			if (!(random >> 20 & 63))
				sched_yield();
		}
		for (unsigned id = random >> 8 & 3; id < LOCKS; id += 2)
			UNLOCK(id);
		got[worker->index] = round;
		if (round % 8)
			continue;
		BARRIER();
		for (unsigned w = 0; w < n_workers; w++)
			CHECK_AT(got[w], w, round);
		BARRIER();
	}
}

static void test_mix(void)
{
	static const unsigned sizes[] = { 1, 2, 9, 70 };

	for (size_t i = 0; i < 4; i++) {
		unsigned long sum = 0;
		uint64_t n = 0, ns = 0;

		CHECK_OK(run(mix, sizes[i]));
		for (unsigned id = 0; id < LOCKS; id++)
			sum += guarded[id];
		CHECK_EQ(sum, counts[ADSM_TASK_LOCKS]);
		CHECK_EQ(counts[ADSM_TASK_BARRIERS], 2 * ((ROUNDS + 7) / 8));
		/* There are as many locks as numbers. */
		for (unsigned k = 0; k < ADSM_TASK_HOT && record.hot[k].n; k++) {
			CHECK(record.hot[k].lock < LOCKS && (!k || record.hot[k].ns <= record.hot[k - 1].ns));
			n += record.hot[k].n;
			ns += record.hot[k].ns;
		}
		CHECK_EQ(n, counts[ADSM_TASK_LOCK_WAITS]);
		CHECK_EQ(ns, counts[ADSM_TASK_LOCK_WAIT_NS]);
	}
}

/* ---- a deadlock is one whenever the last one stops, wherever the others are */

static void embrace(struct adsm_task_worker *worker, const void *const *args)
{
	/* The first two, each with what the other one wants; the others end, or wait for them. */
	if (worker->index < 2)
		LOCK(worker->index);
	BARRIER();
	if (worker->index < 2)
		LOCK(1 - worker->index);
	else if (worker->index % 2)
		LOCK(0);
}

static void test_deadlock(void)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		CHECK_EQ(run(embrace, 2 + round % 20), -EDEADLK);
		CHECK(strstr(text, "worker 0 waits for lock 1, which worker 1 holds, worker 1 waits for lock 0"));
	}
	CHECK_OK(run(hog, 3));
}

/* ---- a task fails just when a thread that waits for its end is about to sleep: a worker may compute on, so it checks
 * again */

int __real_adsm_os_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns, bool shared);
int __wrap_adsm_os_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns, bool shared);

static _Atomic bool in_between, computes;

int __wrap_adsm_os_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns, bool shared)
{
	if (word == &adsm_task.left && atomic_load(&computes)) {
		atomic_store(&in_between, true);
		while (!atomic_load(&adsm_task.failed))
			sched_yield();
		adsm_task_failed_wait();
		CHECKF(timeout_ns || atomic_load(word) != value, "sleeps until a worker ends");
		if (timeout_ns)
			atomic_store(&computes, false);
	}
	return __real_adsm_os_wait(word, value, timeout_ns, shared);
}

static void fail_in_between(struct adsm_task_worker *worker, const void *const *args)
{
	while (!worker->index && !atomic_load(&in_between))
		sched_yield();
	if (!worker->index)
		adsm_task_fail(-EPERM, "on purpose");
	while (atomic_load(&computes))
		sched_yield();
}

static void test_failing(void)
{
	atomic_store(&computes, true);
	CHECK_EQ(run(fail_in_between, 2), -EPERM);
	CHECK(strstr(text, "on purpose"));
	CHECK_OK(run(hog, 3));
}

/* ---- of many locks those that are waited for most are known */

static void test_hot(void)
{
	struct adsm_task_hot hot[ADSM_TASK_HOT] = { { .n = 0 } };

	for (uint32_t i = 0; i < 1000; i++) {
		adsm_task_hot_add(hot, (struct adsm_task_hot){ 10, 100 + i, 1 });
		if (i % 5 == 0)
			adsm_task_hot_add(hot, (struct adsm_task_hot){ 7, 7, 1 });
		if (i % 10 == 0)
			adsm_task_hot_add(hot, (struct adsm_task_hot){ 30, 3, 2 });
	}
	CHECK(hot[0].lock == 3 && hot[0].n == 200 && hot[0].ns == 3000);
	CHECK(hot[1].lock == 7 && hot[1].n <= 200 && hot[1].n > 190 && hot[1].ns == hot[1].n * 7);
	for (unsigned k = 2; k < ADSM_TASK_HOT; k++)
		CHECK(hot[k].n == 1 && hot[k].ns == 10);
}

int main(void)
{
	cpu_set_t all, one;

	CHECK(!sched_getaffinity(0, sizeof(all), &all));
	test_hot();
	test_mix();
	test_deadlock();
	test_failing();
	test_starvation();
	/* On one processor the running worker would hold a lock for all of its time slice. New threads start there, and
	 * existing threads move: each is asked. */
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	CHECK(!sched_setaffinity(0, sizeof(one), &one));
	test_starvation();
	test_bypass();
	fflush(stdout);
	_exit(0);
}
