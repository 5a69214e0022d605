/* SPDX-License-Identifier: MIT */
/* pages.h - what tests of a node's pages share: a memory file, home's bytes in it, a thread that fetches from there. */
#ifndef TEST_PAGES_H
#define TEST_PAGES_H

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../check.h"
#include "base/log.h"
#include "base/os.h"
#include "cluster/node/pages/pages.h"

#define PAGE ADSM_PAGE_SIZE
#define SKIP 77

static enum adsm_track track;
static size_t n_pages;
static uint8_t *view;			/* where kernels see it */
static uint8_t *home;			/* what another node, home, has of it */
static int memory = -1;

static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

/* ---- the communication thread */

static _Atomic uint32_t wake_word;
static atomic_bool has_ended;
static struct adsm_run fetches[100000];
static _Atomic size_t n_fetches;
static pthread_t fetcher;
static atomic_bool arrives_mapped = true;

static void wake(void)
{
	adsm_os_poke(&wake_word);
}

static void *fetch(void *arg)
{
	struct adsm_run run;

	while (!atomic_load(&has_ended)) {
		uint32_t seen = atomic_load(&wake_word);

		if (!adsm_pages_wanted(&run)) {
			adsm_os_wait(&wake_word, seen, 0, false);
			continue;
		}
		CHECK(run.n && run.first + run.n <= n_pages);
		if (n_fetches < sizeof(fetches) / sizeof(fetches[0]))
			fetches[n_fetches++] = run;
		memcpy(adsm_pages_alias(run.first), home + run.first * PAGE, run.n * PAGE);
		adsm_pages_arrived(run, arrives_mapped);
	}
	return arg;
}

/* ---- errors of kernels */

static sigjmp_buf after_error;
static uint64_t error_address;
static enum adsm_pages_wrong error_why;

static void on_error(uint64_t address, enum adsm_pages_wrong why)
{
	error_address = address;
	error_why = why;
	siglongjmp(after_error, 1);
}

/* ---- start and end */

static void start_pages(size_t n, bool is_home, unsigned read_ahead)
{
	struct adsm_pages_config config = {
		.size = n * PAGE, .home = is_home, .track = track, .max_read_ahead = read_ahead, .wake = wake,
		.error = on_error,
	};
	void *p;

	n_pages = n;
	CHECK_OK(adsm_os_reserve(0, config.size, &p));
	view = p;
	config.base = (uintptr_t)p;
	CHECK_OK(adsm_os_memfd("test-pages", config.size, &memory));
	config.fd = memory;
	CHECK_OK(adsm_pages_start(&config));
	if (adsm_pages_track() != track) {
		printf("this system has no userfaultfd that notes writes\n");
		exit(SKIP);
	}
}

static inline void end_pages(void)
{
	adsm_pages_stop();
	adsm_os_unmap(view, n_pages * PAGE);
	close(memory);
}

/* With a thread that fetches, where this is not home. */
static inline void start(size_t n, bool is_home, unsigned read_ahead)
{
	start_pages(n, is_home, read_ahead);
	home = adsm_os_table(n * PAGE);
	CHECK(home);
	has_ended = false;
	n_fetches = 0;
	arrives_mapped = true;
	if (!is_home)
		CHECK_OK(pthread_create(&fetcher, NULL, fetch, NULL));
}

static inline void end(bool is_home)
{
	atomic_store(&has_ended, true);
	wake();
	if (!is_home)
		CHECK_OK(pthread_join(fetcher, NULL));
	adsm_os_unmap(home, n_pages * PAGE);
	end_pages();
}

static enum adsm_track track_named(const char *name)
{
	CHECKF(!strcmp(name, "sigsegv") || !strcmp(name, "uffd"), "%s", name);
	return strcmp(name, "uffd") ? ADSM_TRACK_SIGSEGV : ADSM_TRACK_UFFD;
}

/* ---- what a kernel does */

static inline uint8_t load(uint64_t page, size_t at)
{
	return *(volatile uint8_t *)(view + page * PAGE + at);
}

static inline void store(uint64_t page, size_t at, uint8_t value)
{
	*(volatile uint8_t *)(view + page * PAGE + at) = value;
}

/* That is an error of that kind, at that address. */
static inline void check_wrong(bool is_store, uint64_t page, size_t at, enum adsm_pages_wrong why)
{
	error_address = 0;
	if (!sigsetjmp(after_error, 1)) {
		if (is_store)
			store(page, at, 1);
		else
			load(page, at);
		FAIL("%s byte %zu of page %zu is no error", is_store ? "writing" : "reading", at, (size_t)page);
	}
	CHECK_EQ(error_address, (uintptr_t)view + page * PAGE + at);
	CHECK_EQ(error_why, why);
}

static inline struct adsm_run run_of(uint64_t first, uint64_t n)
{
	return (struct adsm_run) { first, n };
}

static void begin(void)
{
	CHECK_OK(adsm_pages_begin(NULL, 0));
}

/* What has been written is just these runs: first, n, first, n, … 0, 0. */
static inline void check_written(const uint64_t *wanted)
{
	size_t n;
	const struct adsm_run *runs = adsm_pages_written(&n);

	CHECK(runs);
	for (size_t i = 0; i < n; i++, wanted += 2) {
		CHECK_AT(runs[i].first, i, wanted[0]);
		CHECK_AT(runs[i].n, i, wanted[1]);
	}
	CHECKF(!wanted[1], "there are %zu runs", n);
}

#define WRITTEN(...) check_written((const uint64_t[]) { __VA_ARGS__, 0, 0 })
#define NONE 0, 0

#endif
