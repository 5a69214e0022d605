/* SPDX-License-Identifier: MIT */
/*
 * tasks.c - locks and barriers of tasks ("ours") against those of POSIX threads ("floor"), both in the workers of a
 * task in this process. A lock that nobody else wants; one that all workers want, each for an addition; a barrier.
 */
#include "bench.h"

#include <pthread.h>
#include <stdio.h>

#include "process/device/task.h"

struct work {
	unsigned n_workers, n_rounds;
	bool ours;
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

static void lock(struct adsm_task_worker *worker, const void *const *args)
{
	struct work *work = (struct work *)(uintptr_t)args[0];

	worker->calls->barrier(worker);
	time_of(worker, work, false);
	for (unsigned i = 0; i < work->n_rounds && work->ours; i++) {
		worker->calls->lock(worker, 1);
		work->guarded++;
		worker->calls->unlock(worker, 1);
	}
	for (unsigned i = 0; i < work->n_rounds && !work->ours; i++) {
		pthread_mutex_lock(&work->mutex);
		work->guarded++;
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
	if (adsm_task_run_all(&launch, "bench", NULL, counts, text))
		bench_die("%s", text);
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

static void measure(const char *what, unsigned n_workers, unsigned n_rounds, bool barriers, const char *target)
{
	struct work work = { .n_workers = n_workers, .n_rounds = bench_smoke ? 10 : n_rounds };
	struct bench_row row = { .unit = "us", .target = target };

	pthread_mutex_init(&work.mutex, NULL);
	pthread_barrier_init(&work.barrier, NULL, n_workers);
	snprintf(row.name, sizeof(row.name), "%s, %u worker%s", what, n_workers, n_workers > 1 ? "s" : "");
	bench_compare(&row, bench_repeat, barriers ? our_barriers : our_locks, barriers ? their_barriers : their_locks,
		      &work);
	bench_emit(&row);
	pthread_barrier_destroy(&work.barrier);
	pthread_mutex_destroy(&work.mutex);
}

void bench_tasks(void)
{
	measure("lock and unlock", 1, 1000000, false, "<= 2");
	measure("a lock that all want", 2, 200000, false, "");
	measure("a lock that all want", 6, 50000, false, "");
	measure("a lock that all want", 64, 5000, false, "");
	measure("a barrier", 2, 10000, true, "");
	measure("a barrier", 6, 2000, true, "");
	measure("a barrier", 64, 200, true, "");
	measure("a barrier", 256, 50, true, "");
}
