/* SPDX-License-Identifier: MIT */
/*
 * ending.c - a program that uses CUDA itself, and that ends, or ends a context: what it and the library have then.
 *
 *	exit			with handlers that were registered before and after the driver's
 *	exit-large		with more bytes than the library fetches at the end
 *	exit-running		with a kernel that never ends
 *	destroy, detach		a context of its own
 *	reset, release		the device's
 *	destroy-held		a context with memory that the program holds
 *
 * It prints what every call returned. It touches device pointers only in a test: without the library they may be
 * invalid.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

#define N 30000u
#define SIZE (N * sizeof(unsigned))
#define BLOCK 256u
#define LARGE (300 * MiB)

static CUfunction increment, late;
static unsigned in[N], out[N], *p, *large;
static bool shared;

#define GOOD(...) CHECK(!say(__VA_ARGS__))
#define ENDED(...) CHECK(say(__VA_ARGS__) == CUDA_ERROR_DEINITIALIZED)

static unsigned *allocate(size_t size)
{
	CUdeviceptr address;

	GOOD(cuMemAlloc_v2(&address, size), "allocate");
	return (unsigned *)(uintptr_t)address;
}

static int launch(void)
{
	unsigned n = N;

	return cuLaunchKernel(increment, (N + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, (void *[]){ &p, &n },
			      NULL);
}

static void check_out(unsigned more)
{
	GOOD(cuMemcpyDtoH_v2(out, DEVICE(p), SIZE), "to host");
	for (unsigned i = 0; i < N; i++)
		CHECKF(out[i] == in[i] + more, "[%u] is %u", i, out[i]);
	memset(out, 0, SIZE);
}

/* ---- tries */

static sigjmp_buf caught;
static volatile sig_atomic_t trying;

static void on_signal(int signal)
{
	if (!trying)
		_Exit(3);
	siglongjmp(caught, signal);
}

/* Of reading: the signal, or 0. */
static int try(const volatile unsigned *from, unsigned *value)
{
	int signal = sigsetjmp(caught, 1);

	trying = !signal;
	if (!signal)
		*value = *from;
	trying = false;
	return signal;
}

/* ---- a life of a context */

static void begin(CUcontext context)
{
	CUmodule module;
	unsigned value;

	GOOD(cuCtxSetCurrent(context), "current");
	GOOD(cuModuleLoadData(&module, module_image), "module");
	GOOD(cuModuleGetFunction(&increment, module, "increment"), "increment");
	GOOD(cuModuleGetFunction(&late, module, "late_increment"), "late_increment");
	p = allocate(SIZE);
	GOOD(cuMemcpyHtoD_v2(DEVICE(p), in, SIZE), "to device");
	GOOD(launch(), "launch");
	GOOD(cuCtxSynchronize(), "synchronize");
	shared = !try(p + 7, &value);
	CHECKF(!shared || value == in[7] + 1, "it is %u", value);
}

static CUcontext retain(void)
{
	CUcontext context;

	GOOD(cuDevicePrimaryCtxRetain(&context, 0), "retain");
	return context;
}

/* ---- exit */

/* Before the driver ends: nothing has changed. */
static void at_last(void)
{
	unsigned value;

	GOOD(launch(), "launch in a handler");
	check_out(3);
	CHECKF(!shared || (!try(p + 9, &value) && value == in[9] + 3), "it is not there");
	GOOD(launch(), "launch in a handler");
}

static void after_all(void)
{
	unsigned value = 0;

	ENDED(launch(), "launch when all has ended");
	ENDED(cuMemcpyDtoH_v2(out, DEVICE(p), SIZE), "to host when all has ended");
	if (shared) {
		for (unsigned i = 0; i < N; i++)
			CHECKF(!try(p + i, &value) && value == in[i] + 4, "[%u] is %u", i, value);
		p[3] = 33;
		CHECKF(p[3] == 33 && p[4] == in[4] + 4, "it is %u, %u", p[3], p[4]);
		/* What the CPU has not touched before is as it was without the library: the device's. */
		CHECKF(try(large, &value) == SIGBUS, "it is %u", value);
	}
	ENDED(cuMemFree_v2(DEVICE(p)), "free when all has ended");
}

static void after_large(void)
{
	unsigned value = 0;

	ENDED(cuCtxSynchronize(), "synchronize");
	if (!shared)
		return;
	CHECKF(!try(p, &value) && value == 0x04040404, "it is %x", value);
	CHECKF(try(large + LARGE / sizeof(*large) - 1, &value) == SIGBUS, "it is %u", value);
}

static void after_running(void)
{
	unsigned value = 0;

	CHECKF(!shared || try(p, &value) == SIGBUS, "it is %u", value);
}

static void init(void (*handler)(void))
{
	CHECKF(!atexit(handler), "no handler");
	GOOD(cuInit(0), "init");
}

static void leave(void)
{
	init(after_all);
	CHECKF(!atexit(at_last), "no handler");
	begin(retain());
	large = allocate(SIZE);
	GOOD(cuMemsetD8_v2(DEVICE(large), 1, SIZE), "fill");
	GOOD(launch(), "launch");
}

static void leave_large(void)
{
	unsigned value;

	init(after_large);
	begin(retain());
	large = allocate(LARGE);
	/* Both have been touched; the one that fits comes second. */
	try(large, &value);
	p = allocate(SIZE);
	try(p, &value);
	GOOD(cuMemsetD8_v2(DEVICE(large), 3, LARGE), "fill");
	GOOD(cuMemsetD8_v2(DEVICE(p), 4, SIZE), "fill");
	GOOD(cuCtxSynchronize(), "synchronize");
}

static void leave_running(void)
{
	unsigned long spins = 1ul << 40;
	unsigned n = N;

	init(after_running);
	begin(retain());
	GOOD(cuLaunchKernel(late, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &spins, &p, &n }, NULL), "launch");
}

/* ---- contexts: none of the library's streams, events and threads is there when the driver ends one */

static unsigned n_threads(void)
{
	DIR *folder = opendir("/proc/self/task");
	char path[300], name[32];
	struct dirent *entry;
	unsigned n = 0;

	CHECKF(folder, "no /proc");
	while ((entry = readdir(folder))) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "re");
		if (file && fgets(name, sizeof(name), file))
			n += !strcmp(name, "adsm-cuda\n");
		if (file)
			fclose(file);
	}
	closedir(folder);
	return n;
}

/* @contexts: how many there are still. */
static void has_ended(unsigned contexts)
{
	struct test_cuda_counts counts;
	unsigned value;

	test_cuda_counts(&counts);
	CHECKF(!counts.left_behind && !counts.streams && !counts.events, "%u left, %u streams, %u events",
	       (unsigned)counts.left_behind, (unsigned)counts.streams, (unsigned)counts.events);
	/* The system may still list a thread that was joined. If one stays, so does the test, up to its limit. */
	while (n_threads())
		sched_yield();
	CHECKF(counts.contexts == contexts, "%u contexts", (unsigned)counts.contexts);
	CHECKF(try(p, &value) == SIGSEGV, "it is still there");
}

static void go_on(CUcontext context)
{
	begin(context);
	check_out(1);
	GOOD(cuMemFree_v2(DEVICE(p)), "free");
}

static void end_by_destroy(void)
{
	CUcontext context, primary;

	GOOD(cuInit(0), "init");
	primary = retain();
	GOOD(cuCtxCreate_v2(&context, 0, 0), "create");
	begin(context);
	check_out(1);
	GOOD(cuCtxDestroy_v2(context), "destroy");
	has_ended(1);
	go_on(primary);
}

static void end_by_detach(void)
{
	CUcontext context, again, primary;
	unsigned value;

	GOOD(cuInit(0), "init");
	primary = retain();
	GOOD(cuCtxCreate_v2(&context, 0, 0), "create");
	begin(context);
	GOOD(cuCtxAttach(&again, 0), "attach");
	CHECK(again == context);
	GOOD(cuCtxDetach(context), "detach");
	/* That was one of two. */
	GOOD(launch(), "launch");
	GOOD(cuCtxSynchronize(), "synchronize");
	CHECKF(!shared || (!try(p + 8, &value) && value == in[8] + 2), "it is not there");
	check_out(2);
	GOOD(cuCtxDetach(context), "detach");
	has_ended(1);
	go_on(primary);
}

static void end_held(void)
{
	int (*hold)(const void *p, size_t size, unsigned access);
	CUcontext context;

	*(void **)&hold = dlsym(RTLD_DEFAULT, "adsmHold");
	GOOD(cuInit(0), "init");
	GOOD(cuCtxCreate_v2(&context, 0, 0), "create");
	begin(context);
	CHECKF(!hold || !hold(p, 1, 1), "it cannot be held");
	GOOD(cuCtxDestroy_v2(context), "destroy");
}

static void end_by_reset(void)
{
	CUcontext context;

	GOOD(cuInit(0), "init");
	context = retain();
	begin(context);
	check_out(1);
	/* The library may know nothing of the program's share. */
	GOOD(cuDevicePrimaryCtxReset_v2(0), "reset");
	has_ended(1);
	go_on(context);
	GOOD(cuDevicePrimaryCtxReset_v2(0), "reset");
	GOOD(cuDevicePrimaryCtxRelease_v2(0), "release");
	has_ended(0);
	go_on(retain());
}

static void end_by_release(void)
{
	unsigned value;

	GOOD(cuInit(0), "init");
	begin(retain());
	retain();
	GOOD(cuDevicePrimaryCtxRelease_v2(0), "release");
	/* That was one of two. */
	GOOD(launch(), "launch");
	GOOD(cuCtxSynchronize(), "synchronize");
	CHECKF(!shared || (!try(p + 8, &value) && value == in[8] + 2), "it is not there");
	check_out(2);
	GOOD(cuDevicePrimaryCtxRelease_v2(0), "release");
	has_ended(0);
	go_on(retain());
}

static const struct { const char *name; void (*run)(void); } modes[] = {
	{ "exit", leave }, { "exit-large", leave_large }, { "exit-running", leave_running },
	{ "destroy", end_by_destroy }, { "reset", end_by_reset }, { "release", end_by_release },
	{ "destroy-held", end_held }, { "detach", end_by_detach },
};

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_signal };
	size_t i = 0;

	CHECKF(argc == 2, "%d arguments", argc);
	while (i < sizeof(modes) / sizeof(modes[0]) && strcmp(modes[i].name, argv[1]))
		i++;
	CHECKF(i < sizeof(modes) / sizeof(modes[0]), "it is %s", argv[1]);
	CHECKF(!sigaction(SIGBUS, &action, NULL) && !sigaction(SIGSEGV, &action, NULL), "signals");
	for (unsigned k = 0; k < N; k++)
		in[k] = k * 2654435761u + 12345u;
	printf("%s: at first\n", argv[1]);
	modes[i].run();
	return 0;
}
