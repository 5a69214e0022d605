/* SPDX-License-Identifier: MIT */
/*
 * alloc.c - allocating and freeing 1 MiB again and again, as programs do with scratch memory.
 *
 * Floor: the same on a cpu device of another copy of the library, where device memory costs nothing but its pages.
 * "untouched": the CPU does not use it; "written": a byte of each page. On CUDA the driver's own functions too, as an
 * unmodified program calls them with the library preloaded.
 */
#include "bench_cuda.h"

#include <stdio.h>
#include <string.h>

#include "adsm.h"

#define SIZE ((size_t)1 << 20)
#define PAGE ((size_t)4096)

struct side {
	void *(*alloc)(size_t size);
	int (*free)(void *p);
};

static struct sides {
	struct side ours, floor;
	bool writes;
} sides;

static CUresult (*wrapped_alloc)(CUdeviceptr *p, size_t size);
static CUresult (*wrapped_free)(CUdeviceptr p);

static void *cuda_alloc(size_t size)
{
	CUdeviceptr p = 0;

	bench_cu_check(wrapped_alloc(&p, size), "cuMemAlloc");
	return (void *)(uintptr_t)p;
}

static int cuda_free(void *p)
{
	return wrapped_free((uintptr_t)p);
}

/* Microseconds of one. */
static double turns(const struct side *side)
{
	int n = bench_smoke ? 5 : 500;
	double start = bench_now_us();

	for (int i = 0; i < n; i++) {
		volatile char *p = side->alloc(SIZE);

		if (!p)
			bench_die("no memory");
		for (size_t at = 0; sides.writes && at < SIZE; at += PAGE)
			p[at] = 1;
		if (side->free((void *)p))
			bench_die("memory cannot be freed");
	}
	return (bench_now_us() - start) / n;
}

static double ours(void *arg)
{
	return turns(&sides.ours);
}

static double floor_(void *arg)
{
	return turns(&sides.floor);
}

static void compare(const char *name, struct side side, bool writes)
{
	struct bench_row row = { .unit = "us", .target = "<= 1.2" };
	double cold;

	sides.ours = side;
	sides.writes = writes;
	snprintf(row.name, sizeof(row.name), "%s, %s", name, writes ? "written" : "untouched");
	cold = bench_compare(&row, bench_repeat, ours, floor_, NULL);
	snprintf(row.note, sizeof(row.note), "cold %.1f", cold);
	bench_emit(&row);
}

static bool on_cuda(void)
{
	adsmDeviceProps props = { .struct_size = sizeof(props) };

	bench_check(adsmDeviceInfo(0, &props));
	return !strcmp(props.backend, "cuda");
}

void bench_alloc(void)
{
	const __typeof__(&adsmOption) option = bench_wrapper("adsmOption");

	if (option("backend", "cpu") || option("cuda_objects", "on"))
		bench_die("the options are not taken");
	sides.floor = (struct side){ bench_wrapper("adsmAlloc"), bench_wrapper("adsmFree") };
	for (int writes = 0; writes < 2; writes++)
		compare("alloc, free", (struct side){ adsmAlloc, adsmFree }, writes);
	if (!on_cuda())
		return;
	CU(cuCtxPushCurrent_v2, bench_cu_context());
	wrapped_alloc = bench_wrapper("cuMemAlloc_v2");
	wrapped_free = bench_wrapper("cuMemFree_v2");
	for (int writes = 0; writes < 2; writes++)
		compare("cuMemAlloc, cuMemFree", (struct side){ cuda_alloc, cuda_free }, writes);
}
