/* SPDX-License-Identifier: MIT */
/*
 * vecadd.c - the vector addition of the paper's Figure 11, by block size: the CPU writes a and b, a kernel
 * adds them, the CPU sums up c. As the library comes, and in the paper's exact mode.
 *
 * Floor: the program with explicit copies: arrays of malloc(), device-only memory, the same kernel. Both
 * run alternately on memory that earlier rounds have used; the cold figure is ours on fresh memory.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

#define LANES 8				/* of the sum, so that memory is what limits it */

struct program {
	adsmKernel *kernel;
	float *shared[3];		/* ours: a, b, c */
	float *host[3];			/* the floor's: the CPU's, the kernel's */
	void *device[3];
};

static unsigned n;			/* elements, a multiple of 256 */
static float second;			/* each element of b: another one in each run, so that no old c is right */

static void fill(float *a, float *b)
{
	/* The sums stay below 2^24, and exact. */
	second = second < LANES ? second + 1 : 1;
	for (unsigned i = 0; i < n; i++)
		a[i] = (float)(i % LANES);
	for (unsigned i = 0; i < n; i++)
		b[i] = second;
}

static void add(adsmKernel *kernel, const void *a, const void *b, void *c)
{
	const adsmDim block = { 256, 1, 1 }, grid = { n / block.x, 1, 1 };

	bench_check(adsmCall(kernel, grid, block, adsmPtr(a), adsmPtr(b), adsmPtr(c), adsmVal(n)));
	bench_check(adsmSync());
}

static void sum(const float *c)
{
	float sums[LANES] = { 0 };

	for (unsigned i = 0; i < n; i += LANES)
		for (unsigned lane = 0; lane < LANES; lane++)
			sums[lane] += c[i + lane];
	for (unsigned lane = 0; lane < LANES; lane++)
		if (sums[lane] != (float)(n / LANES) * ((float)lane + second))
			bench_die("vecadd: wrong sum");
}

static double run_ours(void *arg)
{
	const struct program *p = arg;
	double start = bench_now_us();

	fill(p->shared[0], p->shared[1]);
	add(p->kernel, p->shared[0], p->shared[1], p->shared[2]);
	sum(p->shared[2]);
	return (bench_now_us() - start) / 1e3;
}

static double run_floor(void *arg)
{
	const struct program *p = arg;
	double start = bench_now_us();

	fill(p->host[0], p->host[1]);
	bench_check(adsmCopyToDevice(p->device[0], p->host[0], n * sizeof(float)));
	bench_check(adsmCopyToDevice(p->device[1], p->host[1], n * sizeof(float)));
	add(p->kernel, p->device[0], p->device[1], p->device[2]);
	bench_check(adsmCopyToHost(p->host[2], p->device[2], n * sizeof(float)));
	sum(p->host[2]);
	return (bench_now_us() - start) / 1e3;
}

static void measure(size_t block_size, bool paper, const char *target)
{
	struct bench_row row = { .unit = "ms", .target = target };
	struct program p;
	adsmModule *module;
	double cold_ms;

	bench_check(adsmOption("protocol", "rolling"));
	bench_check(adsmOption("paper", paper ? "1" : "0"));
	module = bench_load("../kernels/vecadd.adsm", "vecadd", &p.kernel);
	for (int i = 0; i < 3; i++) {
		p.shared[i] = bench_shared_alloc(n * sizeof(float), block_size);
		p.host[i] = bench_host_alloc(n * sizeof(float));
		p.device[i] = adsmDeviceAlloc(n * sizeof(float));
		bench_check(!p.device[i]);
	}
	cold_ms = bench_compare(&row, bench_repeat, run_ours, run_floor, &p);
	snprintf(row.name, sizeof(row.name), "%zuK blocks%s", block_size >> 10, paper ? ", paper" : "");
	snprintf(row.note, sizeof(row.note), "cold %.3f", cold_ms);
	bench_emit(&row);
	for (int i = 0; i < 3; i++) {
		bench_check(adsmFree(p.shared[i]));
		free(p.host[i]);
		bench_check(adsmDeviceFree(p.device[i]));
	}
	bench_check(adsmModuleUnload(module));
	bench_check(adsmShutdown());	/* options are read when the library starts again */
}

void bench_vecadd(void)
{
	static const struct { size_t block_size; const char *target; } cases[] = {
		{ 4 << 10, "" }, { 16 << 10, "<= 1.3" }, { 64 << 10, "<= 1.15" }, { 256 << 10, "<= 1.3" },
		{ 1 << 20, "<= 1.3" }, { 2 << 20, "<= 1.3" }, { 8 << 20, "" }, { 32 << 20, "" },
	};

	n = bench_smoke ? 1u << 14 : 8u << 20;
	for (int paper = 0; paper < 2; paper++)
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
			measure(cases[i].block_size, paper, paper ? "" : cases[i].target);
}
