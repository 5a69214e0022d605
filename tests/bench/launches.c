/* SPDX-License-Identifier: MIT */
/*
 * launches.c - a program that uses CUDA itself, for the benchmark launch: bench-launches WHAT N. It prints how many
 * microseconds each of N takes.
 *
 * launch: a kernel with two parameters. read: the same beside 1000 arrays, and then the first word of one of them, read
 * by a copy, or with the library preloaded (TEST_TOUCH=1) by a load. copy: N MiB to the host, in one copy.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "cuda/cu.h"

static const unsigned char module_image[] __attribute__((aligned(64))) = {
#include "module.inc"
};

#define OBJECTS 1000
#define OBJECT_SIZE ((size_t)64 << 10)
#define MIB ((size_t)1 << 20)
#define COPIES 7

CUresult cuInit(unsigned flags);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxSynchronize(void);
CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t size);
CUresult cuMemsetD8_v2(CUdeviceptr p, unsigned char value, size_t n);
CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t size);
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
			unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **params,
			void **extra);

static void check(CUresult error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "bench-launches: %s failed with %d\n", what, error);
	exit(1);
}
#define CU(name, ...) check(name(__VA_ARGS__), #name)

static CUfunction increment;

static double now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static CUdeviceptr allocate(size_t size)
{
	CUdeviceptr p;

	CU(cuMemAlloc_v2, &p, size);
	CU(cuMemsetD8_v2, p, 0, size);
	return p;
}

static void launch(CUdeviceptr p)
{
	unsigned n = 1;

	CU(cuLaunchKernel, increment, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &p, &n }, NULL);
}

static void read_one(CUdeviceptr p)
{
	volatile unsigned word;

	if (getenv("TEST_TOUCH"))
		word = *(volatile unsigned *)(uintptr_t)p;
	else
		CU(cuMemcpyDtoH_v2, (void *)&word, p, sizeof(word));
}

static double launches(size_t n, size_t n_objects)
{
	CUdeviceptr objects[OBJECTS];
	double start;

	for (size_t i = 0; i < n_objects; i++)
		objects[i] = allocate(OBJECT_SIZE);
	for (size_t i = 0; i < 100; i++)
		launch(objects[0]);
	start = now_us();
	for (size_t i = 0; i < n; i++) {
		launch(objects[0]);
		if (n_objects > 1)
			read_one(objects[i % n_objects]);
	}
	return (now_us() - start) / (double)n;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of several: one copy of this size is at the mercy of whatever else the machine does. */
static double copy(size_t size)
{
	CUdeviceptr p = allocate(size);
	double times[COPIES];
	char *host;

	/* Pages that the fill and the CPU take at the same time would hinder each other, and cost a tenth more. */
	CU(cuCtxSynchronize);
	host = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	check(host == MAP_FAILED, "mmap");
	for (size_t i = 0; i < COPIES; i++) {
		times[i] = now_us();
		CU(cuMemcpyDtoH_v2, host, p, size);
		times[i] = now_us() - times[i];
	}
	qsort(times, COPIES, sizeof(times[0]), by_value);
	return times[COPIES / 2];
}

int main(int argc, char **argv)
{
	size_t n = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	CUcontext context;
	CUmodule module;

	if (!n)
		return 2;
	CU(cuInit, 0);
	CU(cuDevicePrimaryCtxRetain, &context, 0);
	CU(cuCtxSetCurrent, context);
	CU(cuModuleLoadData, &module, module_image);
	CU(cuModuleGetFunction, &increment, module, "increment");
	if (!strcmp(argv[1], "copy"))
		printf("%f\n", copy(n * MIB));
	else
		printf("%f\n", launches(n, !strcmp(argv[1], "read") ? OBJECTS : 1));
	return 0;
}
