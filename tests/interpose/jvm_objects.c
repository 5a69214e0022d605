/* SPDX-License-Identifier: MIT */
/* jvm_objects.c - preloaded into another program: a thread that uses objects for as long as that program runs. */
#include <adsm.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define N 20000u
#define ROUNDS 50

static pthread_t thread;
static atomic_bool stop;

static void *use_objects(void *unused)
{
	adsmModule *module = adsmModuleLoad(getenv("TEST_MODULE"));
	adsmKernel *increment = module ? adsmKernelGet(module, "increment") : NULL;
	unsigned *a = increment ? adsmAlloc(N * sizeof(*a)) : NULL;

	if (!a)
		return (void *)adsmLastError();
	for (unsigned i = 0; i < N; i++)
		a[i] = i;
	for (unsigned round = 1; round <= ROUNDS || !atomic_load(&stop); round++) {
		if (adsmCall(increment, adsmDim3((N + 255) / 256, 1, 1), adsmDim3(256, 1, 1), adsmPtr(a), adsmVal(N)) ||
		    adsmSync())
			return (void *)adsmLastError();
		if (a[N - 1] != N - 1 + round || a[0] != round)
			return "an object is wrong";
	}
	return NULL;
}

__attribute__((constructor)) static void begin(void)
{
	if (pthread_create(&thread, NULL, use_objects, NULL))
		_exit(3);
}

__attribute__((destructor)) static void end(void)
{
	void *problem;

	atomic_store(&stop, true);
	pthread_join(thread, &problem);
	fprintf(stderr, "objects: %s\n", problem ? (const char *)problem : "all right");
	if (problem)
		_exit(3);
}
