/* SPDX-License-Identifier: MIT */
/* test_pool.c - the threads of a device process: every block runs once, whether or not the calling thread takes
 * part. */
#include "base/os.h"
#include "process/device/crash.h"
#include "process/device/pool.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"

#define THREADS 3
#define MAX_BLOCKS 5000

static _Atomic unsigned ran[MAX_BLOCKS];
static _Atomic uint64_t block_ns;
static _Atomic uint32_t gate, wakes;

static void count(const struct adsm_kernel_block *block, const void *const *args)
{
	uint64_t i = block->index[0] + (uint64_t)block->grid[0] * (block->index[1] + block->grid[1] * block->index[2]);

	CHECK(args[0] == &ran);
	atomic_fetch_add(&ran[i], 1);
}

static void wait_at_gate(const struct adsm_kernel_block *block, const void *const *args)
{
	while (!atomic_load(&gate))
		adsm_os_wait(&gate, 0, 0, false);
	count(block, args);
}

static void wake(void)
{
	atomic_fetch_add(&wakes, 1);
	adsm_os_wake(&wakes, 1, false);
}

static struct adsm_pool_launch make(adsm_kernel_run *run, uint32_t x, uint32_t y, uint32_t z)
{
	return (struct adsm_pool_launch){ .run = run, .block_ns = &block_ns, .n = (uint64_t)x * y * z, .args = { &ran },
					  .block = { .grid = { x, y, z }, .block = { 1, 1, 1 } } };
}

static void check_ran(uint64_t first, uint64_t n)
{
	for (uint64_t i = 0; i < MAX_BLOCKS; i++)
		CHECK_AT(atomic_exchange(&ran[i], 0), i, i - first < n);
}

static void test_run(void)
{
	static const uint32_t grids[][3] = { { 1, 1, 1 }, { 2, 1, 1 }, { 7, 5, 3 }, { 1, 64, 1 }, { 5000, 1, 1 } };

	for (int round = 0; round < 200; round++) {
		const uint32_t *grid = grids[round % 5];
		struct adsm_pool_launch launch = make(count, grid[0], grid[1], grid[2]);
		uint64_t n = launch.n;

		/* Is the pool woken immediately, or called later? */
		atomic_store(&block_ns, round % 2 ? 50000 : 0);
		launch.first = n * (uint64_t)(round % 3) / 3;
		launch.n = n * (uint64_t)(round % 3 + 1) / 3 - launch.first;
		adsm_pool_run(&launch);
		check_ran(launch.first, launch.n);
	}
}

static void test_begin(void)
{
	CHECK(adsm_pool_done());
	for (uint32_t round = 1; round <= 100; round++) {
		struct adsm_pool_launch launch = make(wait_at_gate, 8, 4, 1);

		atomic_store(&gate, 0);
		CHECK_OK(adsm_pool_begin(&launch, round % 2 ? wake : NULL));
		CHECK(!adsm_pool_done());
		atomic_store(&gate, 1);
		adsm_os_wake(&gate, THREADS, false);
		while (round % 2 && atomic_load(&wakes) < (round + 1) / 2)
			adsm_os_wait(&wakes, (round - 1) / 2, 0, false);
		while (!adsm_pool_done())
			adsm_process_pause();
		check_ran(0, launch.n);
	}
	CHECK_EQ(wakes, 50);
}

static _Atomic int n_come;

static void *come_second(void *arg)
{
	atomic_store(&n_come, 1);
	adsm_crash_alone();
	_exit(1);
}

/* The first crash counts, of this process or of another: a later one does not end the process before that is
 * reported. */
static void test_crash(void)
{
	struct adsm_process_crash note = { 0 }, other = { .signal = 11, .in_kernel = 1, .address = 0x1234 };

	strcpy(other.place, " on node 2 (there)");
	adsm_crash_take(&other);	/* nowhere */
	adsm_crash_note(&note, NULL);
	adsm_crash_take(&other);
	CHECK(note.signal == 11 && note.in_kernel && note.address == 0x1234 && !strcmp(note.place, other.place));
	adsm_crash_alone();
	CHECK_OK(adsm_pool_thread(come_second));
	while (!atomic_load(&n_come))
		sched_yield();
	for (int i = 0; i < 1000; i++)
		sched_yield();
}

int main(void)
{
	CHECK_OK(adsm_pool_start(THREADS));
	test_run();
	test_begin();
	test_crash();
	_exit(0);
}
