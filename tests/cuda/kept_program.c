/* SPDX-License-Identifier: MIT */
/*
 * kept_program.c - a program of CUDA's, with the library preloaded: what it frees is kept for what it allocates next,
 * and it cannot tell but by the time that takes.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

#define SIZE (2 * MiB)
#define N 1000u
#define SPINS 20000000ul

static CUcontext context;
static CUfunction late_increment;
static CUstream stream;

static struct test_cuda_counts counts(void)
{
	struct test_cuda_counts now;

	test_cuda_counts(&now);
	return now;
}

static CUdeviceptr take(size_t size)
{
	CUdeviceptr p = 0;

	OK(cuMemAlloc_v2(&p, size));
	CHECKF(p, "no memory");
	return p;
}

static void turn(size_t size)
{
	OK(cuMemFree_v2(take(size)));
}

/* On the stream: @p has been incremented some milliseconds later. */
static void launch_late(CUdeviceptr p)
{
	unsigned long spins = SPINS;
	unsigned n = N;

	OK(cuLaunchKernel(late_increment, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){ &spins, &p, &n }, NULL));
}

/* The driver hears nothing of it, and the CPU may use it each time. */
static void turns(void)
{
	CUdeviceptr p;
	uint64_t before;

	turn(SIZE);
	turn(SIZE);
	before = counts().calls;
	for (int i = 0; i < 100; i++) {
		p = take(SIZE - 100);
		((volatile char *)(uintptr_t)p)[i] = 1;
		OK(cuMemFree_v2(p));
	}
	CHECKF(counts().calls == before, "%lu calls", (unsigned long)(counts().calls - before));
}

/* Whatever was launched has ended when memory has been freed: the library's calls, and what it does not see. */
static void waits(void)
{
	CUdeviceptr used, managed, copy, p;
	unsigned *back;

	turn(SIZE);
	used = take(SIZE);
	OK(cuMemsetD8_v2(used, 0, SIZE));
	OK(cuMemHostAlloc((void **)&back, SIZE, 0));
	for (unsigned i = 1; i <= 3; i++) {
		p = take(SIZE);
		launch_late(used);
		OK(cuMemcpyDtoHAsync_v2(back, used, SIZE, stream));
		OK(cuMemFree_v2(p));
		CHECKF(back[0] == i, "round %u: it is %u", i, back[0]);
	}
	OK(cuMemFree_v2(used));

	/* There is no object now. */
	OK(cuMemAllocManaged(&managed, SIZE, 1));
	*(unsigned *)(uintptr_t)managed = 0;
	for (unsigned i = 1; i <= 3; i++) {
		launch_late(managed);
		p = take(SIZE);
		OK(cuMemFree_v2(p));
		CHECKF(*(volatile unsigned *)(uintptr_t)managed == i, "round %u: %u", i,
		       *(unsigned *)(uintptr_t)managed);
		OK(cuMemcpyDtoHAsync_v2(back, managed, SIZE, stream));
		p = take(SIZE);
		OK(cuMemFree_v2(p));
		CHECKF(back[0] == i, "round %u: the copy is %u", i, back[0]);
	}

	/* The driver does not wait for a copy inside the device. */
	OK(cuMemAllocManaged(&copy, SIZE, 1));
	for (unsigned i = 1; i <= 3; i++) {
		*(unsigned *)(uintptr_t)managed = 100 + i;
		turn(SIZE);
		turn(SIZE);
		p = take(SIZE);
		OK(cuMemcpyDtoD_v2(copy, managed, SIZE));
		OK(cuMemFree_v2(p));
		CHECKF(*(volatile unsigned *)(uintptr_t)copy == 100 + i, "round %u: %u", i,
		       *(unsigned *)(uintptr_t)copy);
	}
	OK(cuMemFree_v2(copy));
	OK(cuMemFree_v2(managed));
}

/* It is not the program's any more, then it is another one's. */
static void freed(void)
{
	CUdeviceptr p, q, start;
	size_t size;

	turn(SIZE);
	p = take(SIZE);
	OK(cuMemFree_v2(p));
	CHECKF(cuMemFree_v2(p) == CUDA_ERROR_INVALID_VALUE, "freed twice");
	q = take(SIZE - PAGE / 2);
	CHECKF(q == p, "%lx is not %lx", (unsigned long)q, (unsigned long)p);
	OK(cuMemGetAddressRange_v2(&start, &size, q + 5));
	CHECKF(start == q && size == SIZE - PAGE / 2, "%lx, %zu bytes", (unsigned long)start, size);
	OK(cuMemFree_v2(q));
	CHECKF(cuMemFree_v2(q) == CUDA_ERROR_INVALID_VALUE, "freed twice");
}

static size_t left(void)
{
	size_t free, total;

	OK(cuMemGetInfo_v2(&free, &total));
	CHECKF(free <= total && total == 64 * MiB, "%zu of %zu", free, total);
	return free;
}

/* It counts as free, and everybody gets it. */
static void room(void)
{
	const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
					   .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUmemGenericAllocationHandle handle;
	CUdeviceptr p[6], q;
	size_t before, pitch;

	turn(8 * MiB);
	turn(8 * MiB);
	before = left();
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 6; i++)
			p[i] = take(8 * MiB);
		CHECKF(left() == before - 48 * MiB, "%zu", left());
		for (int i = 0; i < 6; i++)
			OK(cuMemFree_v2(p[i]));
		CHECKF(counts().used >= 48 * MiB, "nothing is kept");
		CHECKF(left() == before, "%zu, not %zu", left(), before);
		if (round == 0) {
			OK(cuMemFree_v2(take(44 * MiB)));
		} else if (round == 1) {
			OK(cuMemAllocManaged(&q, 40 * MiB, 1));
			OK(cuMemFree_v2(q));
		} else if (round == 2) {
			OK(cuMemCreate(&handle, 40 * MiB, &prop, 0));
			OK(cuMemRelease(handle));
		} else if (round == 3) {
			OK(cuMemAllocPitch_v2(&q, &pitch, 4 * MiB, 10, 4));
			OK(cuMemFree_v2(q));
			OK(cuMemAllocPitch_v2(&q, &pitch, 4 * MiB, 10, 4));
			CHECKF(cuMemAllocPitch_v2(&p[0], &pitch, 4 * MiB, 10, 4) == CUDA_ERROR_OUT_OF_MEMORY,
			       "there is more");
			OK(cuMemFree_v2(q));
		} else {
			OK(cuMemAllocAsync(&q, 40 * MiB, stream));
			OK(cuMemFreeAsync(q, stream));
			OK(cuStreamSynchronize(stream));
		}
		CHECKF(left() == before, "round %d: %zu, not %zu", round, left(), before);
	}
}

/* Of a pool nothing is kept, nor for another context. */
static void others(void)
{
	CUcontext other;
	CUdeviceptr p, q;
	uint64_t before;
	unsigned value;

	turn(SIZE);
	before = counts().used;
	OK(cuMemAllocAsync(&p, SIZE, stream));
	OK(cuMemFree_v2(p));
	OK(cuMemAllocAsync(&p, SIZE, stream));
	OK(cuMemFreeAsync(p, stream));
	OK(cuStreamSynchronize(stream));
	CHECKF(counts().used == before, "%lu bytes", (unsigned long)counts().used);

	p = take(SIZE);
	OK(cuMemFree_v2(p));
	OK(cuCtxCreate_v2(&other, 0, 0));
	q = take(SIZE);
	CHECKF(q != p, "it is the other context's");
	OK(cuMemFree_v2(q));
	q = take(SIZE);
	CHECKF(take(SIZE) != p, "it is the other context's");
	OK(cuMemFree_v2(q));
	CHECKF(take(SIZE) == q, "nothing is kept");
	/* Fills of its memory come from any context. */
	*(volatile unsigned *)POINTER(q) = 5;
	OK(cuCtxSetCurrent(context));
	OK(cuMemsetD32_v2(q, 7, 1));
	OK(cuMemcpyDtoH_v2(&value, q, sizeof(value)));
	CHECK_EQ(value, 7);
	OK(cuMemsetD32Async(q, 8, 1, stream));
	OK(cuMemcpyDtoH_v2(&value, q, sizeof(value)));
	CHECK_EQ(value, 8);
	OK(cuCtxDestroy_v2(other));
	/* What was kept there has ended with it; what is kept here has not. */
	OK(cuCtxSetCurrent(context));
	CHECKF(take(SIZE) == p, "it was not kept");
}

/* A capture knows nothing of it, whatever its mode allows, not even where more is freed than may be kept. */
static void captures(void)
{
	CUdeviceptr p[3];
	CUgraph graph;

	turn(SIZE);
	for (int i = 0; i < 3; i++)
		p[i] = take(SIZE);
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (int i = 0; i < 3; i++)
		OK(cuMemFree_v2(p[i]));
	for (int i = 0; i < 2; i++)
		p[i] = take(SIZE);
	OK(cuStreamEndCapture(stream, &graph));
	for (int i = 0; i < 2; i++)
		OK(cuMemFree_v2(p[i]));
}

static void *turn_much(void *arg)
{
	const char value = (char)(uintptr_t)arg;

	OK(cuCtxSetCurrent(context));
	for (int i = 0; i < 200; i++) {
		size_t size = (size_t)(1 + i % 3) * SIZE;
		CUdeviceptr p = take(size);
		volatile char *bytes = (volatile char *)(uintptr_t)p;

		for (size_t at = 0; at < size; at += SIZE)
			bytes[at] = value;
		for (size_t at = 0; at < size; at += SIZE)
			CHECKF(bytes[at] == value, "another's");
		OK(cuMemFree_v2(p));
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread[4];

	for (size_t i = 0; i < 4; i++)
		CHECKF(!pthread_create(&thread[i], NULL, turn_much, (void *)(i + 1)), "thread %zu", i);
	for (size_t i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } modes[] = {
		{ "turns", turns }, { "waits", waits }, { "freed", freed }, { "room", room }, { "others", others },
		{ "captures", captures }, { "threads", threads },
	};
	CUmodule module;

	CHECKF(argc == 2, "%d arguments", argc);
	if (!strcmp(argv[1], "captures"))
		setenv("ADSM_KEEP", "4M", 1);
	use_device(&context);
	OK(cuModuleLoadData(&module, module_image));
	OK(cuModuleGetFunction(&late_increment, module, "late_increment"));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[1], modes[i].name))
			continue;
		modes[i].run();
		printf("%s: good\n", argv[1]);
		return 0;
	}
	CHECKF(false, "there is no mode %s", argv[1]);
}
