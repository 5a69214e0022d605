/* SPDX-License-Identifier: MIT */
/*
 * fault.c - the price of a block's fault: a read of an Invalid block (fetched, becomes ReadOnly), and a
 * write of a ReadOnly one (becomes Dirty).
 *
 * Floor: a bare SIGSEGV handler over a memfd mapped twice: the signal, for a read the same copy from a
 * second memfd (on the backend cuda from the GPU, to pinned memory), one mprotect(); no bookkeeping. It runs in a
 * process of its own, forked before the library starts and asked for rounds through a socket: inside ours its
 * faults would pass through the library's handler first. Both threads are bound to one CPU. All pages have been touched
 * before, on both sides; the cold figure is the first write of a fresh object's blocks.
 */
#include "bench_cuda.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "start/options.h"

struct walk {				/* one access to each block */
	size_t block_size;
	bool write;			/* after a read */
	char *shared;			/* ours: the object */
};

static size_t total;			/* bytes walked through */
static int ends[2];			/* of the socket: ours, the floor's */
static adsmKernel *nothing;

/* Microseconds for each block. */
static double touch(volatile char *view, size_t block_size, bool write)
{
	double start = bench_now_us();

	for (size_t at = 0; at < total; at += block_size) {
		if (write)
			view[at] = 1;
		else
			(void)view[at];
	}
	return (bench_now_us() - start) / (double)(total / block_size);
}

/* ---- the floor's process */

static char *floor_view, *floor_alias, *floor_device;
static CUdeviceptr floor_gpu;		/* instead of floor_device */
static size_t floor_block;
static bool floor_fetch;		/* the next fault is a read's */

static void on_fault(int sig, siginfo_t *info, void *context)
{
	size_t at = (size_t)((char *)info->si_addr - floor_view) & ~(floor_block - 1);

	if (floor_fetch && floor_gpu) {
		adsm_cu.cuMemcpyDtoHAsync_v2(floor_alias + at, floor_gpu + at, floor_block, NULL);
		adsm_cu.cuStreamSynchronize(NULL);
	} else if (floor_fetch) {
		memcpy(floor_alias + at, floor_device + at, floor_block);
	}
	mprotect(floor_view + at, floor_block, floor_fetch ? PROT_READ : PROT_READ | PROT_WRITE);
}

static char *map(int fd)
{
	char *p = ftruncate(fd, (off_t)total) ? MAP_FAILED :
		mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		bench_die("cannot map the floor's memory: %s", strerror(errno));
	return memset(p, 1, total);
}

static void open_floor_gpu(void)
{
	const char *backend = getenv("ADSM_BACKEND");

	if (!backend || strcmp(backend, "cuda"))
		return;
	bench_check(adsm_options_load());
	bench_check(adsm_cu_open());
	CU(cuCtxPushCurrent_v2, bench_cu_context());
	CU(cuMemAlloc_v2, &floor_gpu, total);
	CU(cuMemHostRegister_v2, floor_alias, total, 0);
}

/* As a call does with ours: the caches are in the same state. */
static void send_floor(void)
{
	if (!floor_gpu) {
		memcpy(floor_device, floor_alias, total);
		return;
	}
	CU(cuMemcpyHtoDAsync_v2, floor_gpu, floor_alias, total, NULL);
	CU(cuStreamSynchronize, NULL);
}

static void serve_floor(void)
{
	const struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };
	int object = memfd_create("floor", MFD_CLOEXEC);
	struct walk walk;
	double us;

	floor_view = map(object);
	floor_alias = map(object);
	floor_device = map(memfd_create("floor-device", MFD_CLOEXEC));
	open_floor_gpu();
	sigaction(SIGSEGV, &action, NULL);
	while (read(ends[1], &walk, sizeof(walk)) == sizeof(walk)) {
		floor_block = walk.block_size;
		send_floor();
		mprotect(floor_view, total, PROT_NONE);
		floor_fetch = true;
		us = touch(floor_view, floor_block, false);
		floor_fetch = false;
		if (walk.write)
			us = touch(floor_view, floor_block, true);
		if (write(ends[1], &us, sizeof(us)) < 0)
			break;
	}
	_exit(0);
}

static double run_floor(void *arg)
{
	double us;

	if (write(ends[0], arg, sizeof(struct walk)) < 0 || read(ends[0], &us, sizeof(us)) != sizeof(us))
		bench_die("the floor's process has ended");
	return us;
}

/* ---- ours */

static double run_ours(void *arg)
{
	const struct walk *walk = arg;
	adsmStats before, after;
	double us;

	/* An unnamed call: what is Dirty goes to the device, and all becomes Invalid. */
	bench_check(adsmCall(nothing, bench_one, bench_one, adsmPtr(walk->shared)));
	bench_check(adsmSync());
	bench_check(adsmStatsGet(&before, sizeof(before)));
	us = touch(walk->shared, walk->block_size, false);
	if (walk->write)
		us = touch(walk->shared, walk->block_size, true);
	bench_check(adsmStatsGet(&after, sizeof(after)));
	if (after.signals - before.signals != total / walk->block_size * (walk->write ? 2 : 1))
		bench_die("blocks of %zu bytes: not one fault each", walk->block_size);
	return us;
}

void bench_fault(void)
{
	static const size_t sizes[] = { 4 << 10, 64 << 10, 512 << 10, 2 << 20 };
	cpu_set_t cpu;
	adsmModule *module;
	pid_t child;

	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	total = bench_smoke ? (size_t)2 << 20 : (size_t)64 << 20;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) || (child = fork()) < 0)
		bench_die("cannot start the floor's process: %s", strerror(errno));
	if (!child) {
		close(ends[0]);
		sched_setaffinity(0, sizeof(cpu), &cpu);
		serve_floor();
	}
	close(ends[1]);
	/* One block for each fault, and none leaves early. */
	bench_check(adsmOption("fault_ahead", "0"));
	bench_check(adsmOption("rolling_size", "1000000"));
	module = bench_load("../kernels/bench.adsm", "nothing", &nothing);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct walk walk = { .block_size = sizes[i], .shared = bench_shared_alloc(total, sizes[i]) };
		double cold_us;

		/* Only now: the threads that the library starts would stay there too. */
		sched_setaffinity(0, sizeof(cpu), &cpu);
		cold_us = touch(walk.shared, sizes[i], true);
		memset(walk.shared, 1, total);
		for (int write = 0; write < 2; write++) {
			struct bench_row row = { .unit = "us", .target = "<= 1.25" };

			walk.write = write;
			bench_compare(&row, bench_repeat, run_ours, run_floor, &walk);
			snprintf(row.name, sizeof(row.name), "%s of a %zuK block", write ? "write" : "read",
				 sizes[i] >> 10);
			if (write)
				snprintf(row.note, sizeof(row.note), "cold %.3f", cold_us);
			bench_emit(&row);
		}
		bench_check(adsmFree(walk.shared));
	}
	bench_check(adsmModuleUnload(module));
	bench_check(adsmShutdown());
	close(ends[0]);
	waitpid(child, NULL, 0);
}
