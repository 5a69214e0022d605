/* SPDX-License-Identifier: MIT */
/* primes.c - a data flow: a thread makes numbers, the device counts primes, and main() adds the counts. */
#include <adsm_once.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNIT = 4096, THREADS = 64 };	/* numbers in a unit; as in kernels.c */
enum { UNITS = 256, REPORT = 64 };

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "primes: %s: %s\n", what, why);
	exit(1);
}

/* The first stage. In a real program it would read a file, or a socket. */
static void *make_numbers(void *arg)
{
	adsmOnce *numbers = arg;

	for (size_t u = 0; u < UNITS; u++) {
		unsigned *unit = adsmOnceFresh(numbers, u);

		if (!unit)
			fail("adsmOnceFresh", adsmLastError());
		for (unsigned i = 0; i < UNIT; i++)
			unit[i] = (unsigned)u * UNIT + i;
		if (adsmOnceSet(numbers, u))
			fail("adsmOnceSet", adsmLastError());
	}
	return NULL;
}

int main(void)
{
	adsmKernel *count_primes = adsmKernelGet(adsmModuleLoad("kernels.adsm"), "count_primes");
	adsmOnce *numbers = adsmOnceAlloc(UNITS, UNIT * sizeof(unsigned), NULL);
	adsmOnce *counts = adsmOnceAlloc(UNITS, sizeof(unsigned), NULL);
	unsigned total = 0;
	pthread_t thread;
	int error;

	if (!count_primes || !numbers || !counts)
		fail("start", adsmLastError());
	/* The kernel starts before there is a number. Its blocks wait. */
	if (adsmCall(count_primes, adsmDim3(UNITS, 1, 1), adsmDim3(THREADS, 1, 1), adsmPtr(numbers->address),
		     adsmPtr(counts->address)))
		fail("adsmCall", adsmLastError());
	error = pthread_create(&thread, NULL, make_numbers, numbers);
	if (error)
		fail("pthread_create", strerror(error));
	for (size_t u = 0; u < UNITS; u++) {
		const unsigned *count = adsmOnceGet(counts, u);		/* waits for block u */

		if (!count)
			fail("adsmOnceGet", adsmLastError());
		total += *count;
		if ((u + 1) % REPORT == 0)
			printf("%u primes below %zu\n", total, (u + 1) * UNIT);
	}
	pthread_join(thread, NULL);
	if (adsmSync() || adsmOnceFree(numbers) || adsmOnceFree(counts))
		fail("end", adsmLastError());
	return 0;
}
