/* SPDX-License-Identifier: MIT */
/*
 * bank.c - many transfers between accounts that have a lock each, on any device with tasks: bank MODULE transfers
 * WORKERS N ABROAD. N transfers of all workers together; each ABROADth goes to any account, all others to an account of
 * the same worker. The sums are compared with those of a sequential run.
 *
 * bank MODULE laps N prints the nanoseconds that a worker takes for a lock that only it uses.
 */
#include <adsm.h>

#include <stdlib.h>
#include <time.h>

#define CHECK_MORE adsmLastError()
#include "../check.h"
#include "bank.h"

#define START 1000000

static adsmModule *module;

/* A call of a task and its end. */
#define RUN(name, workers, ...) do { \
	CHECKF(adsmKernelGet(module, name), "%s", name); \
	CHECK_OK(adsmCall(adsmKernelGet(module, name), adsmDim3(workers, 1, 1), adsmDim3(1, 1, 1), __VA_ARGS__)); \
	CHECK_OK(adsmSync()); \
} while (0)

static void transfers(int n_workers, int n, int abroad)
{
	long *accounts = adsmAlloc(BANK_ACCOUNTS * sizeof(*accounts)), want[BANK_ACCOUNTS];

	CHECK(accounts && n_workers > 0 && abroad > 0);
	for (int i = 0; i < BANK_ACCOUNTS; i++)
		want[i] = accounts[i] = START;
	for (int worker = 0; worker < n_workers; worker++) {
		unsigned seed = bank_seed(worker);

		for (int i = 0; i < n / n_workers; i++) {
			const struct transfer it = bank_next(&seed, worker, n_workers, i % abroad == 0);

			want[it.from] -= it.amount;
			want[it.to] += it.amount;
		}
	}
	RUN("bank", (unsigned)n_workers, adsmPtr(accounts), adsmVal(n / n_workers), adsmVal(abroad));
	for (int i = 0; i < BANK_ACCOUNTS; i++)
		CHECK_AT(accounts[i], i, want[i]);
	adsmFree(accounts);
}

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double time_of(int n)
{
	const double began = now_ns();

	RUN("laps", 1, adsmVal(n));
	return now_ns() - began;
}

/* The least of some tries; a call without any is not a lap. */
static void laps(int n)
{
	double least = 0;

	time_of(1);
	for (int i = 0; i < 5; i++) {
		const double ns = (time_of(n) - time_of(1)) / n;

		least = i && least < ns ? least : ns;
	}
	printf("%.1f\n", least);
}

int main(int argc, char **argv)
{
	CHECK(argc > 3);
	module = adsmModuleLoad(argv[1]);
	CHECK(module);
	if (!strcmp(argv[2], "laps"))
		laps(atoi(argv[3]));
	else if (argc == 6)
		transfers(atoi(argv[3]), atoi(argv[4]), atoi(argv[5]));
	else
		FAIL("bank MODULE transfers WORKERS N ABROAD");
	CHECK_OK(adsmModuleUnload(module));
	CHECK_OK(adsmShutdown());
	return 0;
}
