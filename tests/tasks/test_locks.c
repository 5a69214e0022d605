/* SPDX-License-Identifier: MIT */
/*
 * test_locks.c - the locks and barriers of tasks, in this process: nobody is bypassed more often than is promised, no
 * worker is taken for stopped that is not, and what locks guard is guarded.
 */
#include "process/device/task.h"
#include "process/device/task_lock.h"

#include "base/os.h"

#include <sched.h>
#include <stdlib.h>

static char text[512];			/* what was said last */
#define CHECK_MORE text
#include "../check.h"

#define ACQUIRES 100000
#define FEW_ACQUIRES 10000		/* where most of them change hands, which takes a while on a busy machine */
#define ROUNDS 120
#define LOCKS 8

#define LOCK(id) worker->calls->lock(worker, (id))
#define UNLOCK(id) worker->calls->unlock(worker, (id))
#define BARRIER() worker->calls->barrier(worker)

static unsigned long guarded[LOCKS];	/* plain: locks alone guard them */
static unsigned got[ADSM_TASK_WORKERS_MAX];
static unsigned n_workers, n_acquires;
static uint64_t counts[ADSM_TASK_N_COUNTS];

static int run(adsm_task_run *task, unsigned n)
{
	struct adsm_pool_launch launch = {
		.task = task, .n = n, .block = { .grid = { n, 1, 1 }, .block = { 1, 1, 1 } },
	};

	_Static_assert(sizeof(text) >= ADSM_PROCESS_TEXT, "it has room");
	*text = '\0';
	n_workers = n;
	memset(guarded, 0, sizeof(guarded));
	memset(got, 0, sizeof(got));
	return adsm_task_run_all(&launch, "test", NULL, counts, text);
}

/* ---- nobody starves, although who runs takes a lock again and again without sleeping */

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

		n_acquires = n > 4 ? FEW_ACQUIRES : ACQUIRES;
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

/* ---- one that waits: until it has got the lock the other one may have it so often, and no more */

static _Atomic uint32_t has_begun, has_got;
static unsigned had;

static void bypass(struct adsm_task_worker *worker, const void *const *args)
{
	if (worker->index) {
		while (!atomic_load(&has_begun))
			adsm_os_wait(&has_begun, 0, 0, false);
		LOCK(2);
		atomic_store(&has_got, 1);
		UNLOCK(2);
		return;
	}
	LOCK(2);
	atomic_store(&has_begun, 1);
	adsm_os_wake(&has_begun, 1, false);
	/* It is in the queue. */
	while (atomic_load(&adsm_task_threads[1]->waits_for) != 2)
		sched_yield();
	had = 0;
	while (!atomic_load(&has_got)) {
		UNLOCK(2);
		LOCK(2);
		had++;
	}
	UNLOCK(2);
}

static void test_bypass(void)
{
	unsigned most = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		atomic_store(&has_begun, 0);
		atomic_store(&has_got, 0);
		CHECK_OK(run(bypass, 2));
		/* The last time is after the other one. */
		CHECKF(had <= ADSM_TASK_BYPASS_MAX + 1, "%u", had);
		most = had > most ? had : most;
	}
	printf("a waiting worker was passed by %u times at most\n", most);
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

		CHECK_OK(run(mix, sizes[i]));
		for (unsigned id = 0; id < LOCKS; id++)
			sum += guarded[id];
		CHECK_EQ(sum, counts[ADSM_TASK_LOCKS]);
		CHECK_EQ(counts[ADSM_TASK_BARRIERS], 2 * ((ROUNDS + 7) / 8));
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
		CHECK(strstr(text, "worker 0 waits for lock 1, which worker 1 has, worker 1 waits for lock 0"));
	}
	CHECK_OK(run(hog, 3));
}

int main(void)
{
	cpu_set_t all, one;

	CHECK(!sched_getaffinity(0, sizeof(all), &all));
	test_mix();
	test_deadlock();
	test_starvation();
	/* On one processor who runs would have a lock for all of its time. New threads begin on it, and those there are
	 * move: each is asked. */
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
