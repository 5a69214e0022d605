/* SPDX-License-Identifier: MIT */
/* once.h - what the tests of write-once objects share: cases by name, threads, and waiting for a waiting thread. */
#ifndef TEST_ONCE_H
#define TEST_ONCE_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "adsm_once.h"

#define CHECK_MORE adsmLastError()
#include "../check.h"

#define PAGE ((size_t)4096)

struct test_case {
	const char *name;
	void (*run)(void);
};

/* Run the named cases, or all if no name is given. */
static inline void test_cases(const struct test_case *cases, size_t n, int argc, char **argv)
{
	for (size_t i = 0; i < n; i++) {
		bool wanted = argc < 2;

		for (int a = 1; a < argc; a++)
			wanted |= !strcmp(argv[a], cases[i].name);
		if (!wanted)
			continue;
		cases[i].run();
		fprintf(stderr, "%s: ok\n", cases[i].name);
	}
}

static inline int test_run(const struct test_case *cases, size_t n, int argc, char **argv)
{
	test_cases(cases, n, argc, argv);
	CHECK_OK(adsmShutdown());
	return 0;
}

static inline bool test_full(void)
{
	return getenv("TEST_FULL") != NULL;
}

/* For a thread: the object, and a unit of it. */
struct test_unit {
	adsmOnce *once;
	size_t first;
};

static inline pthread_t start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	CHECK_OK(-pthread_create(&thread, NULL, run, arg));
	return thread;
}

static inline void *end(pthread_t thread)
{
	void *result;

	CHECK_OK(-pthread_join(thread, &result));
	return result;
}

static inline adsmOnce *make(size_t count, size_t size)
{
	adsmOnce *once = adsmOnceAlloc(count, size, NULL);

	CHECK(once);
	return once;
}

/* Until that number of threads wait; *ret describes the first. */
static inline void until_waiting(int n, adsmOnceWaiter *ret)
{
	adsmOnceWaiter waiter;

	while (adsmOnceWaiters(&waiter, 1, sizeof(waiter)) < n)
		sched_yield();
	if (ret)
		*ret = waiter;
}

static inline bool sleeps(pid_t thread)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	file = fopen(path, "r");
	CHECK(file && fscanf(file, "%*d %*s %c", &state) == 1);
	fclose(file);
	return state == 'S';
}

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	CHECK(!clock_gettime(clock, &now));
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline void put(adsmOnce *once, size_t unit, uint32_t value)
{
	uint32_t *p = adsmOnceFresh(once, unit);

	CHECK(p);
	*p = value;
	CHECK_OK(adsmOnceSet(once, unit));
}

static inline uint32_t get(const adsmOnce *once, size_t unit)
{
	const uint32_t *p = adsmOnceGet(once, unit);

	CHECK(p);
	return *p;
}

/* A fixed sequence of numbers. */
static inline uint64_t splitmix(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

#endif
