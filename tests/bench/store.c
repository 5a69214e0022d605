/* SPDX-License-Identifier: MIT */
/*
 * store.c - what a kernel pays for its accesses by the software cache of a core with a local store, in nanoseconds
 * for each access of its inner loop: of its thread's processor time, which others beside it change less.
 *
 * Floor: the same kernel by the same compiler with the same flags, whose accesses are plain loads and stores.
 */
#include "bench.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/module.h"
#include "store/core.h"

#define BASE UINT64_C(0x7e8000000000)	/* of device memory: nothing is there */
#define SIZE ((size_t)64 << 20)
#define ROUNDS 9

static struct adsm_cache_memory memory = { .base = BASE, .size = SIZE };
static struct adsm_core core;
static void *cached, *direct;		/* the module's code, for a core and for this processor */

struct work {
	const char *kernel;
	int n, rounds;
	int accesses;			/* of a step of its loop */
};

static void on_wrong(struct adsm_cache *cache, uint64_t address, const char *what)
{
	bench_die("%s at %lx", what, (unsigned long)address);
}

/* The code for a core that a module carries. */
static void *load_store(const char *path)
{
	struct adsm_module_info *info;
	FILE *file = fopen(path, "rb");
	char *image = malloc(SIZE), name[64];
	size_t size = file && image ? fread(image, 1, SIZE, file) : 0;
	int fd = memfd_create("store", 0);
	void *code;

	if (!size || fd < 0 || adsm_module_info_create(image, size, &info) || !info->store_size ||
	    write(fd, info->store, info->store_size) != (ssize_t)info->store_size)
		bench_die("%s: no code for cores with a local store", path);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	code = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!code)
		bench_die("%s", dlerror());
	adsm_module_info_destroy(info);
	free(image);
	fclose(file);
	return code;
}

static double thread_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Nanoseconds for an access. */
static double run(const struct work *work, void *code, uint64_t base)
{
	const struct adsm_kernel_block block = { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
	const uint64_t a = base, b = base + SIZE / 2;
	const void *const args[] = { &a, &b, &work->n, &work->rounds };
	adsm_kernel_run *kernel;
	char name[32];
	double start;

	snprintf(name, sizeof(name), "adsm_run_%s", work->kernel);
	*(void **)&kernel = dlsym(code, name);
	if (!kernel)
		bench_die("%s", dlerror());
	start = thread_ns();
	adsm_core_run(&core, kernel, &block, args);
	adsm_cache_flush(core.cache);
	return (thread_ns() - start) / ((double)work->n * work->rounds * work->accesses);
}

static double by_cache(void *arg)
{
	return run(arg, cached, BASE);
}

static double plain(void *arg)
{
	return run(arg, direct, (uint64_t)(uintptr_t)memory.bytes);
}

static void compare(const char *name, const char *target, struct work work)
{
	struct bench_row row = { "ns", "", 0, 0, target, "" };

	if (bench_smoke)
		work.n = 4096, work.rounds = 1;
	snprintf(row.name, sizeof(row.name), "%s", name);
	bench_compare(&row, bench_smoke ? 1 : ROUNDS, by_cache, plain, &work);
	snprintf(row.note, sizeof(row.note), "%+.2f ns", row.ours - row.floor);
	bench_emit(&row);
}

void bench_store(void)
{
	const struct adsm_scratchpad_geometry geometry = { 256 << 10, 64 << 10, 64, 4, 128, 1, 1 };
	struct adsm_scratchpad_layout layout;
	char text[512];

	cached = load_store(bench_beside("../kernels/streams.adsm"));
	direct = dlopen(bench_beside("../kernels/streams-plain.adsm"), RTLD_NOW | RTLD_LOCAL);
	if (!direct)
		bench_die("%s", dlerror());
	memory.bytes = bench_host_alloc(SIZE);
	if ((uintptr_t)memory.bytes % 4096)
		memory.bytes += 4096 - (uintptr_t)memory.bytes % 4096, memory.size -= 4096;
	memset(memory.bytes, 0, memory.size);
	if (!adsm_scratchpad_lay_out(&geometry, &layout, text, sizeof(text)) ||
	    adsm_core_create(&geometry, &layout, &memory, on_wrong, &core))
		bench_die("no core");
	compare("read in order, 16 MiB", "<= 2", (struct work){ "sum", 4 << 20, 1, 1 });
	compare("read again, 16 KiB", "+ 3 ns", (struct work){ "sum", 4096, 1024, 1 });
	compare("read and write in order, 16 MiB each", "", (struct work){ "scale", 4 << 20, 1, 2 });
	compare("read and write again, 8 KiB each", "+ 3 ns", (struct work){ "scale", 2048, 2048, 2 });
	adsm_core_destroy(&core);
}
