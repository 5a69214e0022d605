/* SPDX-License-Identifier: MIT */
/*
 * tasks.c - locks and barriers of tasks ("ours") against those of POSIX threads ("floor"), both in the workers of a
 * task in this process. Rows: a lock that one worker uses; a lock that all workers use, each for an addition; the same
 * where the holder yields once in YIELD times, so that workers meet at the lock; a barrier.
 */
#include "bench.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "process/device/task.h"

#define YIELD 256

struct work {
	unsigned n_workers, n_rounds;
	bool ours, yields;
	double us;			/* of one round of one worker's */
	pthread_mutex_t mutex;
	pthread_barrier_t barrier;
	volatile unsigned long guarded;
};

static void time_of(const struct adsm_task_worker *worker, struct work *work, bool ends)
{
	if (worker->index)
		return;
	if (!ends)
		work->us = bench_now_us();
	else
		work->us = (bench_now_us() - work->us) / work->n_rounds;
}

/* With the lock. */
static void use(const struct adsm_task_worker *worker, struct work *work, unsigned round)
{
	work->guarded++;
	if (work->yields && round % YIELD == worker->index)
		sched_yield();
}

static void lock(struct adsm_task_worker *worker, const void *const *args)
{
	struct work *work = (struct work *)(uintptr_t)args[0];

	worker->calls->barrier(worker);
	time_of(worker, work, false);
	for (unsigned i = 0; i < work->n_rounds && work->ours; i++) {
		worker->calls->lock(worker, 1);
		use(worker, work, i);
		worker->calls->unlock(worker, 1);
	}
	for (unsigned i = 0; i < work->n_rounds && !work->ours; i++) {
		pthread_mutex_lock(&work->mutex);
		use(worker, work, i);
		pthread_mutex_unlock(&work->mutex);
	}
	worker->calls->barrier(worker);
	time_of(worker, work, true);
}

static void barrier(struct adsm_task_worker *worker, const void *const *args)
{
	struct work *work = (struct work *)(uintptr_t)args[0];

	worker->calls->barrier(worker);
	time_of(worker, work, false);
	for (unsigned i = 0; i < work->n_rounds; i++) {
		if (work->ours)
			worker->calls->barrier(worker);
		else
			pthread_barrier_wait(&work->barrier);
	}
	time_of(worker, work, true);
}

static double run(struct work *work, adsm_task_run *task, bool ours)
{
	static char text[ADSM_PROCESS_TEXT];
	struct adsm_pool_launch launch = { .task = task, .n = work->n_workers, .args = { work } };
	uint64_t counts[ADSM_TASK_N_COUNTS];

	work->ours = ours;
	work->guarded = 0;
	if (adsm_task_run_all(&launch, "bench", NULL, counts, text))
		bench_die("%s", text);
	if (task == lock && work->guarded != (unsigned long)work->n_workers * work->n_rounds)
		bench_die("tasks: %lu additions under a lock, not %lu", work->guarded,
			  (unsigned long)work->n_workers * work->n_rounds);
	return work->us;
}

static double our_locks(void *work)
{
	return run(work, lock, true);
}

static double their_locks(void *work)
{
	return run(work, lock, false);
}

static double our_barriers(void *work)
{
	return run(work, barrier, true);
}

static double their_barriers(void *work)
{
	return run(work, barrier, false);
}

enum what { LOCK, YIELDING_LOCK, BARRIER };

static void measure(enum what what, unsigned n_workers, unsigned n_rounds, const char *target)
{
	static const char *const names[] = { "a lock", "a lock, its holder yields", "a barrier" };
	struct work work = {
		.n_workers = n_workers, .n_rounds = bench_smoke ? 10 : n_rounds, .yields = what == YIELDING_LOCK,
	};
	struct bench_row row = { .unit = "us", .target = target };

	pthread_mutex_init(&work.mutex, NULL);
	pthread_barrier_init(&work.barrier, NULL, n_workers);
	snprintf(row.name, sizeof(row.name), "%s, %u worker%s", names[what], n_workers, n_workers > 1 ? "s" : "");
	bench_compare(&row, bench_repeat, what == BARRIER ? our_barriers : our_locks,
		      what == BARRIER ? their_barriers : their_locks, &work);
	bench_emit(&row);
	pthread_barrier_destroy(&work.barrier);
	pthread_mutex_destroy(&work.mutex);
}

void bench_tasks(void)
{
	measure(LOCK, 1, 1000000, "<= 2");
	measure(LOCK, 2, 200000, "");
	measure(LOCK, 6, 50000, "");
	measure(LOCK, 64, 5000, "");
	measure(YIELDING_LOCK, 2, 50000, "");
	measure(YIELDING_LOCK, 6, 10000, "");
	measure(YIELDING_LOCK, 64, 1000, "");
	measure(BARRIER, 2, 10000, "");
	measure(BARRIER, 6, 2000, "");
	measure(BARRIER, 64, 200, "");
	measure(BARRIER, 256, 50, "");
}
