/* SPDX-License-Identifier: MIT */
/*
 * queues.c - two kernels of one block each in two queues, and the same work in two plain threads.
 *
 * In each round four times are measured, in turn: one kernel and its sync; two kernels in two queues and the sync; one
 * thread; two threads at the same time. A thread runs the loop of the kernel. "Ours" is the time of the two kernels
 * divided by the time of one. 1: they ran at the same time, 2: one after the other.
 *
 * Floor: the same quotient of the threads, which says what the machine permits in this run.
 */
#include "bench.h"

#include <adsm_queue.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { KERNEL, KERNELS, THREAD, THREADS, N_TIMES };

static adsmKernel *kernel;
static adsmQueue *queues[2];
static unsigned *from, *to[2];
static int n_steps = 1000;

static void call(int i)
{
	bench_check(adsmQueueSet(queues[i]));
	bench_check(adsmCall(kernel, bench_one, bench_one, adsmPtr(from), adsmPtr(to[i]), adsmVal(1),
			     adsmVal(n_steps)));
}

static pthread_barrier_t begins;

/* The loop of the kernel, which no compiler can guess away. */
static void *work(void *arg)
{
	unsigned *x = arg;

	pthread_barrier_wait(&begins);
	for (int step = 0; step < n_steps; step++)
		*x = *(volatile unsigned *)x * 1664525 + 1013904223;
	return NULL;
}

/* Threads start before the clock does. */
static double time_of_threads(int n)
{
	static unsigned values[2][64];	/* in different lines of the cache */
	pthread_t threads[2];
	double start;

	pthread_barrier_init(&begins, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, work, values[i]))
			bench_die("a thread cannot be started");
	start = bench_now_us();
	pthread_barrier_wait(&begins);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&begins);
	return bench_now_us() - start;
}

static double time_of_kernels(int n)
{
	const double start = bench_now_us();

	for (int i = 0; i < n; i++)
		call(i);
	bench_check(adsmSync());
	return bench_now_us() - start;
}

static double measure(int what)
{
	return what < THREAD ? time_of_kernels(what + 1) : time_of_threads(what - THREAD + 1);
}

/* The shortest time of some: other work on the machine makes one longer, but not all. */
static double least_of(int what)
{
	double least = measure(what);

	for (int i = 0; i < 4; i++) {
		const double us = measure(what);

		least = us < least ? us : least;
	}
	return least;
}

void bench_queues(void)
{
	struct bench_row row = { .unit = "ratio", .name = "two kernels in two queues", .target = "<= 1.1" };
	double *us[N_TIMES], medians[N_TIMES];
	const double wanted = bench_smoke ? 500 : 20000;
	adsmModule *module = bench_load("../kernels/bench.adsm", "steps", &kernel);

	from = bench_shared_alloc(sizeof(*from), 0);
	for (int i = 0; i < 2; i++) {
		queues[i] = adsmQueueCreate();
		if (!queues[i])
			bench_die("%s", adsmLastError());
		to[i] = bench_shared_alloc(sizeof(*to[i]), 0);
	}
	measure(KERNELS);	/* the device may compile the kernel */
	while (least_of(KERNEL) < wanted && n_steps < 1 << 29)
		n_steps *= 2;
	for (int what = 0; what < N_TIMES; what++) {
		us[what] = malloc((size_t)bench_repeat * sizeof(**us));
		if (!us[what])
			bench_die("no memory");
	}
	for (int round = 0; round < bench_repeat; round++)
		for (int i = 0; i < N_TIMES; i++) {
			const int what = (i + round) % N_TIMES;

			us[what][round] = measure(what);
		}
	for (int what = 0; what < N_TIMES; what++) {
		medians[what] = bench_median(us[what], (size_t)bench_repeat);
		free(us[what]);
	}
	row.ours = medians[KERNELS] / medians[KERNEL];
	row.floor = medians[THREADS] / medians[THREAD];
	snprintf(row.note, sizeof(row.note), "ms: kernels %.1f and %.1f, threads %.1f and %.1f", medians[KERNEL] / 1e3,
		 medians[KERNELS] / 1e3, medians[THREAD] / 1e3, medians[THREADS] / 1e3);
	bench_emit(&row);
	for (int i = 0; i < 2; i++) {
		bench_check(adsmQueueDestroy(queues[i]));
		bench_check(adsmFree(to[i]));
	}
	bench_check(adsmFree(from));
	bench_check(adsmModuleUnload(module));
}
