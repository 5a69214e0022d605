/* SPDX-License-Identifier: MIT */
/*
 * litmus.c - what workers may rely on of memory and locks, on any device with tasks: litmus MODULE [WORKERS [ROUNDS]].
 * What each is about stands with its task (tests/kernels/workers.c). Where ROUNDS are few all is quick, and less is
 * sure.
 */
#include <adsm.h>

#include <stdlib.h>

#define CHECK_MORE adsmLastError()
#include "../check.h"

#define INTS (1 << 18)
#define FAR 8192			/* as in the tasks */
#define ACQUIRES 100000

static adsmModule *module;
static int *a, *wrong;
static unsigned n_workers;

/* A call of a task and its end. */
#define RUN(name, ...) do { \
	memset(a, 0, INTS * sizeof(*a)); \
	*wrong = 0; \
	CHECKF(adsmKernelGet(module, name), "%s", name); \
	CHECK_OK(adsmCall(adsmKernelGet(module, name), adsmDim3(n_workers, 1, 1), adsmDim3(1, 1, 1), adsmPtr(a), \
			  ##__VA_ARGS__)); \
	CHECK_OK(adsmSync()); \
	CHECKF(!*wrong, "%s: %d times", name, *wrong); \
} while (0)

static void test_release_order(int n_rounds)
{
	const int turns = n_rounds * (int)n_workers;

	RUN("release_order", adsmVal(n_rounds), adsmPtr(wrong));
	CHECK(a[0] == turns && a[1] == turns && a[FAR] == 2 * turns && a[2 * FAR + 1] == 3 * turns);
}

static void test_stale_read(int n_rounds)
{
	RUN("stale_read", adsmVal(n_rounds), adsmPtr(wrong));
	CHECK_EQ(a[0], n_rounds * (int)n_workers);
	CHECK_EQ(a[FAR], a[0]);
}

static void test_two_locks(int n_rounds)
{
	RUN("two_locks", adsmVal(n_rounds));
	CHECK_EQ(a[0], n_rounds * (int)((n_workers + 1) / 2));
	CHECK_EQ(a[1], n_rounds * (int)(n_workers / 2));
}

/* More than a cache has room for, in all of its lines and in one set. */
static void test_eviction(void)
{
	static const int shapes[][2] = { { 60000, 1 }, { 500, 512 }, { 60, 4096 } };

	for (int i = 0; i < 3; i++) {
		RUN("eviction", adsmVal(shapes[i][0]), adsmVal(shapes[i][1]), adsmPtr(wrong));
		CHECK_EQ(a[shapes[i][1]], (int)(n_workers * n_workers));
	}
}

static void test_fairness(int n_acquires)
{
	int sum = 0;

	RUN("fairness", adsmVal(n_acquires), adsmVal(20));
	CHECK(a[0] >= n_acquires && a[1] == (int)n_workers);
	for (unsigned w = 0; w < n_workers; w++) {
		CHECKF(a[2 + w] >= 20, "worker %u", w);
		sum += a[2 + w];
	}
	CHECK_EQ(a[0], sum);
}

int main(int argc, char **argv)
{
	static const unsigned crews[] = { 1, 2, 3, 6, 9, 24 };
	const unsigned most = argc > 2 ? (unsigned)atoi(argv[2]) : 24;
	const int n_rounds = argc > 3 ? atoi(argv[3]) : 200;

	CHECK(argc > 1 && n_rounds > 0);
	module = adsmModuleLoad(argv[1]);
	CHECK(module);
	a = adsmAlloc(INTS * sizeof(*a));
	wrong = adsmAlloc(sizeof(*wrong));
	CHECK(a && wrong);
	for (size_t i = 0; i < sizeof(crews) / sizeof(crews[0]) && crews[i] <= most; i++) {
		n_workers = crews[i];
		/* Workers that wait for their turn awake take it from those whose turn it is. */
		test_release_order(n_workers > 6 ? n_rounds / 20 + 1 : n_rounds / 4 + 1);
		test_stale_read(n_rounds * 5);
		RUN("one_line", adsmVal(n_rounds), adsmPtr(wrong));
		test_two_locks(n_rounds * 5);
		test_eviction();
		test_fairness(n_rounds * (ACQUIRES / 200));
		RUN("ring", adsmVal(n_workers > 6 ? n_rounds / 20 + 1 : n_rounds / 4 + 1), adsmPtr(wrong));
		RUN("all_flags", adsmVal(n_rounds / 10 + 1), adsmPtr(wrong));
		RUN("pipe", adsmVal(n_rounds), adsmPtr(wrong));
	}
	adsmFree(a);
	adsmFree(wrong);
	CHECK_OK(adsmModuleUnload(module));
	CHECK_OK(adsmShutdown());
	return 0;
}
