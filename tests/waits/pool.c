/* SPDX-License-Identifier: MIT */
/* pool.c - the pool of threads that run the blocks of a launch; and launches whose end wakes another thread. */
#include "step.h"

#include "backends/process/device/pool.c"
#include "backends/process/shared.c"

_Thread_local bool adsm_crash_in_kernel;
_Thread_local const struct adsm_kernel_block *adsm_crash_block;
_Thread_local uint64_t adsm_crash_launch;

static int n_run[3];			/* by launch */
static _Atomic uint64_t block_ns = WAKE_NS;
static struct adsm_pool_launch launches[3];
static _Atomic uint32_t second_has_begun;
static _Atomic uint32_t n_wakes;

void adsm_crash_thread(void)
{
}

static void run_block(const struct adsm_kernel_block *block, const void *const *args)
{
	const struct adsm_pool_launch *launch = my_work->launch;

	n_run[launch - launches]++;
}

/* The first block waits for the second one, which must run in another thread. */
static bool has_begun(void *arg)
{
	return second_has_begun;
}

static void run_waiting_block(const struct adsm_kernel_block *block, const void *const *args)
{
	if (block->index[0])
		atomic_store(&second_has_begun, 1);
	else
		step_await(has_begun, NULL);
}

static void make_pool(unsigned threads)
{
	memset(n_run, 0, sizeof(n_run));
	memset(works, 0, sizeof(works));
	atomic_init(&opened, 0);
	n_lanes = 1;
	memset(&begun, 0, sizeof(begun));
	atomic_init(&second_has_begun, 0);
	atomic_init(&n_wakes, 0);
	n_threads = threads;
	for (int i = 0; i < 3; i++)
		launches[i] = (struct adsm_pool_launch){ .run = run_block, .n = 2, .block_ns = &block_ns,
							 .block = { .grid = { 2, 1, 1 } } };
	for (int i = 0; i < 3; i++)
		step_constant(launches[i].args, sizeof(launches[i].args));
	step_constant(works[0].failure, sizeof(works[0].failure));
	step_constant(works + 1, sizeof(works) - sizeof(works[0]));
}

static void run_pool(void *arg)
{
	pool_main(NULL);
}

static void launch(void *arg)
{
	for (uintptr_t i = 0; i < (uintptr_t)arg; i++) {
		STEP_CHECK(!adsm_pool_run(&launches[i]));
		STEP_CHECK(n_run[i] == 2);
		STEP_CHECK(!works[0].n_in_launch || !works[0].open);
	}
}

static void start_launches(void)
{
	make_pool(2);
	step_thread("pool", run_pool, NULL, STEP_SERVER);
	step_thread("launcher", launch, (void *)2, 0);
}

static void start_three(void)
{
	make_pool(3);
	step_thread("pool", run_pool, NULL, STEP_SERVER);
	step_thread("pool too", run_pool, NULL, STEP_SERVER);
	step_thread("launcher", launch, (void *)1, 0);
}

static void launch_waiting(void *arg)
{
	STEP_CHECK(!adsm_pool_run(&launches[0]));
}

static void start_waits(void)
{
	make_pool(2);
	launches[0].run = run_waiting_block;
	launches[0].waits = true;
	step_thread("pool", run_pool, NULL, STEP_SERVER);
	step_thread("launcher", launch_waiting, NULL, 0);
}

/* ---- launches whose end wakes another thread */

static void wake(void)
{
	atomic_fetch_add(&n_wakes, 1);
	adsm_os_wake(&n_wakes, 1, false);
}

static void run_runner(void *arg)
{
	runner_main(NULL);
}

static void begin_and_wait(void *arg)
{
	for (int i = 0; i < 2; i++) {
		begun.launch = &launches[i];
		begun.wake = wake;
		adsm_process_queue_submit(&begun.queue, false);
		for (;;) {
			uint32_t n = atomic_load(&n_wakes);

			if (adsm_pool_done())
				break;
			adsm_os_wait(&n_wakes, n, 0, false);
		}
		STEP_CHECK(n_run[i] == 2);
	}
}

static void start_begun(void)
{
	make_pool(1);
	step_thread("runner", run_runner, NULL, STEP_SERVER);
	step_thread("node", begin_and_wait, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct step_scenario scenarios[] = {
		{ .name = "two launches", .start = start_launches, .signals = 1 },
		{ .name = "two threads of the pool", .start = start_three },
		{ .name = "a block waits for another one", .start = start_waits, .signals = 1 },
		{ .name = "launches for others", .start = start_begun, .signals = 1 },
		{ .name = NULL },
	};

	return step_main(argc, argv, scenarios);
}
