/* SPDX-License-Identifier: MIT */
/* test_touched.c - node 0 learns which pages the application touches: each page once, none missing, with its
 * contents. */
#include "cluster/shared.h"

#include <pthread.h>
#include <stdlib.h>

#include "../check.h"

#define N_PAGES ((uint64_t)10 * 4096 + 17)

struct page {
	unsigned touched;		/* how often it was told */
	bool allocated;			/* the last time */
};

static struct adsm_cluster_shared *shared;
static struct page pages[N_PAGES];
static uint64_t last;			/* the first page that may be reported next */
static unsigned n_runs;

static void take(void *arg, uint64_t first, uint64_t n, bool allocated)
{
	CHECK(n && first >= last && first + n <= N_PAGES);
	last = first + n;
	n_runs++;
	for (uint64_t i = first; i < first + n; i++) {
		pages[i].touched++;
		pages[i].allocated = allocated;
	}
}

static unsigned collect(void)
{
	last = 0;
	n_runs = 0;
	adsm_cluster_collect(shared, take, NULL);
	return n_runs;
}

static void check_runs(void)
{
	CHECK_EQ(collect(), 0);
	adsm_cluster_allocated(shared, 10, 5000);
	CHECK_EQ(collect(), 1);
	CHECK(pages[10].touched == 1 && pages[5009].touched == 1 && !pages[9].touched && !pages[5010].touched);
	CHECK(pages[10].allocated && pages[5009].allocated);
	CHECK_EQ(collect(), 0);
	/* Neighbours of words and groups are one run; the last page is one; nothing is nothing. */
	adsm_cluster_touched(shared, 63, 2);
	adsm_cluster_touched(shared, 4095, 2);
	adsm_cluster_touched(shared, N_PAGES - 1, 1);
	adsm_cluster_touched(shared, 100, 0);
	CHECK_EQ(collect(), 3);
	CHECK(pages[63].touched == 2 && pages[64].touched == 2 && pages[4096].touched == 2 && pages[100].touched == 1);
	CHECK(!pages[N_PAGES - 1].allocated);
	/* What is of objects and what is not are different runs. */
	adsm_cluster_freed(shared, 20, 100);
	adsm_cluster_touched(shared, 0, 200);
	CHECK_EQ(collect(), 4);
	CHECK(!pages[9].allocated && pages[10].allocated && !pages[20].allocated && !pages[119].allocated &&
	      pages[120].allocated);
	/* Freed and allocated again in between: told once, as it is now. */
	adsm_cluster_freed(shared, 10, 10);
	adsm_cluster_allocated(shared, 10, 10);
	CHECK_EQ(collect(), 1);
	CHECK(pages[10].allocated && pages[19].allocated);
}

/* Any interval, against a plain array. */
static void check_random(void)
{
	static bool touched[N_PAGES], allocated[N_PAGES];
	unsigned seed = 42;

	adsm_cluster_freed(shared, 0, N_PAGES);
	collect();
	for (int round = 0; round < 300; round++) {
		for (int k = 0; k < 4; k++) {
			uint64_t first = (uint64_t)rand_r(&seed) % N_PAGES;
			uint64_t n = (uint64_t)rand_r(&seed) % (k ? 200 : 9000);
			int what = rand_r(&seed) % 3;

			if (n > N_PAGES - first)
				n = N_PAGES - first;
			(what == 0 ? adsm_cluster_allocated : what == 1 ? adsm_cluster_freed : adsm_cluster_touched)
				(shared, first, n);
			for (uint64_t i = first; i < first + n; i++) {
				touched[i] = true;
				allocated[i] = what == 2 ? allocated[i] : what == 0;
			}
		}
		memset(pages, 0, sizeof(pages));
		collect();
		for (uint64_t i = 0; i < N_PAGES; i++) {
			CHECK_AT(pages[i].touched, i, touched[i]);
			CHECK(!touched[i] || pages[i].allocated == allocated[i]);
		}
		memset(touched, 0, sizeof(touched));
	}
}

/* Bytes that are stored before their page is touched are collected: no older bytes remain. */
#define N_WRITERS 2
#define N_ROUNDS 200000

static _Atomic uint32_t bytes[N_PAGES];
static uint32_t copies[N_PAGES];
static _Atomic int n_writing;

static void *write_pages(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	for (int i = 0; i < N_ROUNDS; i++) {
		uint64_t page = (uint64_t)rand_r(&seed) % 300 * 137;

		atomic_fetch_add_explicit(&bytes[page], 1, memory_order_relaxed);
		adsm_cluster_touched(shared, page, 1);
	}
	atomic_fetch_sub(&n_writing, 1);
	return NULL;
}

static void look(void *arg, uint64_t first, uint64_t n, bool allocated)
{
	for (uint64_t i = first; i < first + n; i++)
		copies[i] = atomic_load_explicit(&bytes[i], memory_order_relaxed);
}

static void check_threads(void)
{
	pthread_t threads[N_WRITERS];

	n_writing = N_WRITERS;
	for (uintptr_t i = 0; i < N_WRITERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, write_pages, (void *)(i + 1)));
	while (atomic_load(&n_writing))
		adsm_cluster_collect(shared, look, NULL);
	for (int i = 0; i < N_WRITERS; i++)
		pthread_join(threads[i], NULL);
	adsm_cluster_collect(shared, look, NULL);
	for (uint64_t i = 0; i < N_PAGES; i++)
		CHECK_AT(copies[i], i, bytes[i]);
}

int main(void)
{
	size_t size = adsm_cluster_shared_size(N_PAGES * 4096);

	shared = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
	CHECK(shared);
	memset(shared, 0, size);
	shared->n_pages = N_PAGES;
	check_runs();
	check_random();
	check_threads();
	free(shared);
	return 0;
}
