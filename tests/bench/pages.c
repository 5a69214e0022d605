/* SPDX-License-Identifier: MIT */
/*
 * pages.c - what it costs a node of a cluster to know what its kernels touch: the tracker uffd ("ours") against sigsegv
 * ("floor"), which every system has. One thread, 16,384 pages; each has been written in a launch before. A launch is
 * begin, one store to each page, and the list of what was written. A read of what is not there is the touch, the way
 * to the communication thread and back, and a copy of the bytes.
 */
#include "bench.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "cluster/node/pages/pages.h"

static size_t n_pages;
static uint8_t *view;

static _Atomic uint32_t wake_word;
static atomic_bool has_ended;

static void wake(void)
{
	adsm_os_poke(&wake_word);
}

static void wrong(uint64_t address, enum adsm_pages_wrong why)
{
	bench_die("the kernel is wrong (%d) at %p", why, (void *)(uintptr_t)address);
}

static void *fetch(void *bytes)
{
	struct adsm_run run;

	while (!atomic_load(&has_ended)) {
		uint32_t seen = atomic_load(&wake_word);

		if (!adsm_pages_wanted(&run)) {
			adsm_os_wait(&wake_word, seen, 0, false);
			continue;
		}
		memcpy(adsm_pages_alias(run.first), bytes, run.n * ADSM_PAGE_SIZE);
		adsm_pages_arrived(run, true);
	}
	return NULL;
}

static void check(int error)
{
	if (error)
		bench_die("pages: error %d", error);
}

/* Each second page only, or each. */
static void store_all(size_t step)
{
	for (size_t page = 0; page < n_pages; page += step)
		view[page * ADSM_PAGE_SIZE]++;
}

static void load_all(void)
{
	for (size_t page = 0; page < n_pages; page++)
		(void)*(volatile uint8_t *)(view + page * ADSM_PAGE_SIZE);
}

struct job {
	const char *name;
	enum { LAUNCH, STORES, BEGIN, WRITTEN, NOTHING, FETCH, INVALIDATE } what;
	bool home;
	size_t step;
	unsigned read_ahead;
};

static double each(double start, size_t n)
{
	return (bench_now_us() - start) / (double)n;
}

static double measure(const struct job *job)
{
	double begun, stored, start = bench_now_us();
	size_t n;

	if (job->what == INVALIDATE || job->what == FETCH) {
		adsm_pages_invalidate((struct adsm_run) { 0, n_pages });
		if (job->what == INVALIDATE)
			return each(start, n_pages);
		check(adsm_pages_begin(NULL, 0));
		start = bench_now_us();
		load_all();
		return each(start, n_pages);
	}
	check(adsm_pages_begin(NULL, 0));
	begun = bench_now_us();
	if (job->what == BEGIN)
		return begun - start;
	if (job->what != NOTHING)
		store_all(job->step);
	stored = bench_now_us();
	if (job->what == STORES)
		return (stored - begun) / (double)(n_pages / job->step);
	if (!adsm_pages_written(&n))
		bench_die("no memory");
	return job->what == WRITTEN ? bench_now_us() - stored : job->what == NOTHING ? bench_now_us() - start :
		each(start, n_pages / job->step);
}

static double run(const struct job *job, enum adsm_track track)
{
	struct adsm_pages_config config = {
		.size = n_pages * ADSM_PAGE_SIZE, .home = job->home, .track = track, .max_read_ahead = job->read_ahead,
		.wake = wake, .error = wrong,
	};
	void *p, *bytes = bench_host_alloc((size_t)256 * ADSM_PAGE_SIZE);
	pthread_t fetcher;
	double us;
	size_t n;

	check(adsm_os_reserve(0, config.size, &p));
	view = p;
	config.base = (uintptr_t)p;
	check(adsm_os_memfd("bench-pages", config.size, &config.fd));
	check(adsm_pages_start(&config));
	atomic_store(&has_ended, false);
	pthread_create(&fetcher, NULL, fetch, bytes);
	check(adsm_pages_add((struct adsm_run) { 0, n_pages }));
	memset(adsm_pages_alias(0), 1, config.size);
	adsm_pages_arrived((struct adsm_run) { 0, n_pages }, true);
	for (int i = 0; i < 2; i++) {
		check(adsm_pages_begin(NULL, 0));
		store_all(job->step);
		adsm_pages_written(&n);
	}
	/* A launch that writes nothing follows one that writes nothing. */
	if (job->what == NOTHING) {
		check(adsm_pages_begin(NULL, 0));
		adsm_pages_written(&n);
	}
	us = measure(job);
	atomic_store(&has_ended, true);
	wake();
	pthread_join(fetcher, NULL);
	adsm_pages_stop();
	adsm_os_unmap(view, config.size);
	close(config.fd);
	free(bytes);
	return us;
}

static double run_uffd(void *job)
{
	return run(job, ADSM_TRACK_UFFD);
}

static double run_sigsegv(void *job)
{
	return run(job, ADSM_TRACK_SIGSEGV);
}

void bench_pages(void)
{
	static const struct job jobs[] = {
		{ "launch, each page written, home", LAUNCH, true, 1, 0 },
		{ "launch, each page written", LAUNCH, false, 1, 0 },
		{ "launch, every 2nd page written", LAUNCH, false, 2, 0 },
		{ "store to a page", STORES, false, 1, 0 },
		{ "store to every 2nd page", STORES, false, 2, 0 },
		{ "begin, all written before", BEGIN, false, 1, 0 },
		{ "begin, all written before, home", BEGIN, true, 1, 0 },
		{ "list of what was written, all", WRITTEN, false, 1, 0 },
		{ "launch that writes nothing", NOTHING, false, 1, 0 },
		{ "read of a page not there, alone", FETCH, false, 1, 1 },
		{ "read of pages not there, in order", FETCH, false, 1, 256 },
		{ "invalidate a page of many", INVALIDATE, false, 1, 0 },
	};

	n_pages = bench_smoke ? 256 : 16384;
	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		struct bench_row row = { .unit = "us", .target = i ? "" : "<= 0.5" };
		struct job job = jobs[i];

		snprintf(row.name, sizeof(row.name), "%s", job.name);
		bench_compare(&row, bench_repeat, run_uffd, run_sigsegv, &job);
		snprintf(row.note, sizeof(row.note), "%s", job.what == BEGIN || job.what == WRITTEN ||
			 job.what == NOTHING ? "all pages together" : "each page");
		bench_emit(&row);
	}
}
