/* SPDX-License-Identifier: MIT */
/*
 * reset.c - a program that uses CUDA itself, whose device fails, and that resets it and continues. crash: a kernel
 * crashes; killed: the device ends while nothing runs; lost: TEST_CUDA lets the second launch fail; stays: a kernel
 * crashes, and no reset repairs the device. With the prefix driver-, all calls are the driver's, else the runtime's if
 * it has them.
 *
 * It prints what every call returned. It touches device pointers only in a test: without the library they may be
 * invalid.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "../doubles/cuda/runtime.h"

#define N 30000u
#define SIZE (N * sizeof(unsigned))
#define BLOCK 256u

static bool runtime;
static CUfunction increment, crash;

/* ---- calls */

#define GOOD(...) CHECK(!say(__VA_ARGS__))
#define FAILS(...) CHECK(say(__VA_ARGS__))

static int allocate(unsigned **ret_p)
{
	CUdeviceptr p = 0;
	void *q = NULL;
	int error = runtime ? cudaMalloc(&q, SIZE) : cuMemAlloc_v2(&p, SIZE);

	*ret_p = runtime ? q : (void *)(uintptr_t)p;
	return error;
}

static int release(unsigned *p)
{
	return runtime ? cudaFree(p) : cuMemFree_v2(DEVICE(p));
}

static int allocate_async(unsigned **ret_p)
{
	CUdeviceptr p = 0;
	void *q = NULL;
	int error = runtime ? cudaMallocAsync(&q, SIZE, NULL) : cuMemAllocAsync(&p, SIZE, NULL);

	*ret_p = runtime ? q : (void *)(uintptr_t)p;
	return error;
}

static int release_async(unsigned *p)
{
	return runtime ? cudaFreeAsync(p, NULL) : cuMemFreeAsync(DEVICE(p), NULL);
}

static int to_device(unsigned *dst, const unsigned *src)
{
	return runtime ? cudaMemcpy(dst, src, SIZE, cudaMemcpyHostToDevice) : cuMemcpyHtoD_v2(DEVICE(dst), src, SIZE);
}

static int to_device_async(unsigned *dst, const unsigned *src)
{
	return runtime ? cudaMemcpyAsync(dst, src, SIZE, cudaMemcpyHostToDevice, NULL) :
		cuMemcpyHtoDAsync_v2(DEVICE(dst), src, SIZE, NULL);
}

static int to_host(unsigned *dst, const unsigned *src)
{
	return runtime ? cudaMemcpy(dst, src, SIZE, cudaMemcpyDeviceToHost) : cuMemcpyDtoH_v2(dst, DEVICE(src), SIZE);
}

static int within(unsigned *dst, const unsigned *src)
{
	return runtime ? cudaMemcpy(dst, src, SIZE, cudaMemcpyDeviceToDevice) :
		cuMemcpyDtoD_v2(DEVICE(dst), DEVICE(src), SIZE);
}

static int fill(unsigned *p, unsigned char value)
{
	return runtime ? cudaMemset(p, value, SIZE) : cuMemsetD8_v2(DEVICE(p), value, SIZE);
}

static int launch(CUfunction function, unsigned *p)
{
	unsigned n = N;

	return cuLaunchKernel(function, (N + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, (void *[]){ &p, &n },
			      NULL);
}

static int synchronize(void)
{
	return runtime ? cudaDeviceSynchronize() : cuCtxSynchronize();
}

static int reset(void)
{
	return runtime ? cudaDeviceReset() : cuDevicePrimaryCtxReset_v2(0);
}

/* ---- tries */

static sigjmp_buf caught;

static void on_signal(int signal)
{
	siglongjmp(caught, signal);
}

/* The signal, or 0. */
static int try(volatile unsigned *p, unsigned *value, bool write)
{
	int signal = sigsetjmp(caught, 1);

	if (signal)
		return signal;
	if (write)
		*p = *value;
	else
		*value = *p;
	return 0;
}

static void must_be(unsigned *p, unsigned i, unsigned value, bool there)
{
	unsigned found = 0;
	int signal = try(p + i, &found, false);

	CHECKF(signal ? signal == SIGBUS && !there : found == value, "[%u] is %u, should be %u; signal %d", i, found,
	       value, signal);
}

/* ---- a life of the device */

enum failure { CRASH, KILLED, LOST, STAYS };

static unsigned in[N], out[N];

static unsigned value(unsigned i)
{
	return i * 2654435761u + 12345u;
}

static void check_out(unsigned more)
{
	for (unsigned i = 0; i < N; i++)
		CHECKF(out[i] == value(i) + more, "[%u] is %u", i, out[i]);
	memset(out, 0, SIZE);
}

static void begin(void)
{
	CUcontext context;
	CUmodule module;

	GOOD(cuDevicePrimaryCtxRetain(&context, 0), "retain");
	GOOD(cuCtxSetCurrent(context), "current");
	GOOD(cuModuleLoadData(&module, module_image), "module");
	GOOD(cuModuleGetFunction(&increment, module, "increment"), "increment");
	GOOD(cuModuleGetFunction(&crash, module, "crash"), "crash");
}

static void kill_device(void)
{
	struct test_cuda_counts counts;

	test_cuda_counts(&counts);
	CHECKF(counts.device_pid > 0 && !kill(counts.device_pid, SIGKILL), "device %d", counts.device_pid);
	while (!cuCtxSynchronize())
		;
}

static void fail(enum failure failure)
{
	bool kernel = failure == CRASH || failure == STAYS;
	unsigned *p, *q, *left, *more, word = 55;
	bool shared;

	GOOD(allocate(&p), "allocate");
	GOOD(allocate(&q), "allocate");
	GOOD(allocate(&left), "allocate");
	GOOD(to_device(p, in), "to device");
	GOOD(to_device(q, in), "to device");
	GOOD(launch(increment, p), "launch");
	GOOD(synchronize(), "synchronize");
	GOOD(to_host(out, p), "to host");
	check_out(1);
	shared = !try(q + 5, &word, true);
	if (shared) {
		must_be(p, 7, value(7) + 1, true);
		must_be(q, 5, 55, true);
		for (unsigned i = 0; i < N; i++)
			left[i] = i;
	}

	if (kernel)
		launch(crash, p);	/* which may say it already, if that is what ends first */
	else if (failure == LOST)
		FAILS(launch(increment, p), "lost");
	else
		kill_device();
	if (shared && kernel)
		must_be(p, 7, value(7) + 1, false);
	FAILS(synchronize(), "synchronize");
	if (shared) {
		must_be(p, 7, value(7) + 1, !kernel);
		must_be(q, 5, 55, !kernel);
		must_be(left, N - 1, N - 1, !kernel);
	}
	FAILS(to_host(out, p), "to host");
	FAILS(to_device(p, in), "to device");
	FAILS(to_device_async(q, in), "to device, some time");
	FAILS(within(q, p), "within");
	FAILS(fill(q, 1), "fill");
	FAILS(launch(increment, q), "launch");
	FAILS(allocate(&more), "allocate");
	FAILS(allocate_async(&more), "allocate, some time");
	FAILS(release(p), "free");
	FAILS(release_async(q), "free, some time");
	FAILS(synchronize(), "synchronize");
	if (failure == STAYS)
		FAILS(reset(), "reset");
	else
		GOOD(reset(), "reset");
	/* All of it went with the context. */
	CHECKF(try(p, &word, false) == SIGSEGV && try(q, &word, false) == SIGSEGV &&
	       try(left, &word, false) == SIGSEGV, "it is still there");
}

static void work(void)
{
	unsigned *p, *q;

	GOOD(allocate(&p), "allocate");
	GOOD(allocate(&q), "allocate");
	GOOD(to_device_async(p, in), "to device, some time");
	for (int i = 0; i < 3; i++)
		GOOD(launch(increment, p), "launch");
	GOOD(fill(q, 1), "fill");
	GOOD(within(q, p), "within");
	GOOD(launch(increment, q), "launch");
	GOOD(to_host(out, p), "to host");
	check_out(3);
	GOOD(synchronize(), "synchronize");
	GOOD(to_host(out, q), "to host");
	check_out(4);
	GOOD(release(q), "free");
	GOOD(release(p), "free");
}

int main(int argc, char **argv)
{
	static const char *const names[] = { [CRASH] = "crash", [KILLED] = "killed", [LOST] = "lost",
					      [STAYS] = "stays" };
	const struct sigaction action = { .sa_handler = on_signal };
	const char *mode = argv[1];
	enum failure failure = CRASH;

	CHECKF(argc == 2, "%d arguments", argc);
	runtime = strncmp(mode, "driver-", 7);
	while (failure <= STAYS && strcmp(mode + (runtime ? 0 : 7), names[failure]))
		failure++;
	CHECKF(failure <= STAYS, "it is %s", mode);
	CHECKF(!sigaction(SIGBUS, &action, NULL) && !sigaction(SIGSEGV, &action, NULL), "signals");
	for (unsigned i = 0; i < N; i++)
		in[i] = value(i);
	printf("%s: at first\n", mode);
	GOOD(cuInit(0), "init");
	begin();
	if (failure == STAYS) {
		CUcontext context;

		fail(failure);
		FAILS(cuDevicePrimaryCtxRelease_v2(0), "release");
		FAILS(cuDevicePrimaryCtxRetain(&context, 0), "retain");
		return 0;
	}
	for (int i = 0; i < (failure == LOST ? 1 : 3); i++) {
		fail(failure);
		begin();
		work();
	}
	GOOD(reset(), "reset");
	begin();
	work();
	return 0;
}
