/* SPDX-License-Identifier: MIT */
/* pool.c - the calling thread runs a launch; the pool's threads help if the launch is long enough to wake them, also
 * those of other lanes. */
#include "pool.h"

#include "base/os.h"
#include "crash.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* About the time of waking a sleeping processor: one thread alone runs shorter launches. */
#define WAKE_NS 50000
#define STACK_SIZE ((size_t)8 << 20)	/* kernels keep the variables of a whole block on the stack */
#define CHUNK_MAX 64			/* maximum number of blocks that a thread takes at a time */

static unsigned n_threads;
static unsigned n_lanes = 1;
static bool is_crowded;

/* ---- the launch in progress in each lane. Threads of the pool join it while it is open. A thread counts itself before
 * it checks, so the caller does not end a launch that a thread has joined. */

static struct work {
	uint32_t number;		/* of launches that were opened */
	const struct adsm_pool_launch *launch;
	uint64_t end, chunk;		/* blocks */
	_Alignas(64) _Atomic uint64_t next;	/* the first block that no thread has taken */
	_Alignas(64) _Atomic uint32_t open;	/* number of the launch; 0: no launch to join */
	_Atomic uint32_t n_in_launch;	/* futex: number of threads of the pool in the launch */
	_Atomic int error;		/* the error of adsm_pool_fail() */
	char failure[ADSM_PROCESS_TEXT];
} works[ADSM_PROCESS_LANES];

static _Atomic uint32_t opened;		/* futex: changes when a launch was opened in any lane */
static _Thread_local struct work *my_work;	/* that this thread is in */

_Thread_local struct adsm_pool_block adsm_pool_block;
_Atomic uint32_t *_Atomic adsm_pool_running;

const char *adsm_pool_failure(void)
{
	return (my_work ? my_work : works)->failure;
}

bool adsm_pool_fail(int error, const char *text)
{
	int none = 0;

	if (!atomic_compare_exchange_strong(&my_work->error, &none, error))
		return false;
	strcpy(my_work->failure, text);
	atomic_store(&my_work->next, my_work->end);
	return true;
}

int adsm_pool_error(void)
{
	return atomic_load(&my_work->error);
}

void adsm_pool_leave(void)
{
	longjmp(adsm_pool_block.leave, 1);
}

static void find_index(struct adsm_kernel_block *block, uint64_t number)
{
	block->index[0] = (uint32_t)(number % block->grid[0]);
	block->index[1] = (uint32_t)(number / block->grid[0] % block->grid[1]);
	block->index[2] = (uint32_t)(number / block->grid[0] / block->grid[1]);
}

/* Run blocks that may wait: one at a time, so that each begins after all earlier blocks have begun. */
static void run_waiting(struct work *work)
{
	const struct adsm_pool_launch *launch = work->launch;
	struct adsm_kernel_block block = launch->block;
	jmp_buf leave;

	adsm_pool_block.launch = launch;
	adsm_pool_block.leave = leave;
	adsm_crash_block = &block;
	adsm_crash_in_kernel = true;
	if (!_setjmp(leave))
		while ((adsm_pool_block.number = atomic_fetch_add(&work->next, 1)) < work->end) {
			find_index(&block, adsm_pool_block.number);
			launch->run(&block, launch->args);
		}
	adsm_crash_in_kernel = false;
	adsm_crash_block = NULL;
	adsm_pool_block.launch = NULL;
	adsm_pool_block.leave = NULL;
	if (adsm_pool_running)
		atomic_fetch_sub(adsm_pool_running, 1);
}

/* Run blocks until none is left. Returns the number of blocks run. @wake_at: when to wake the pool's threads; 0:
 * never. */
static uint64_t run_blocks(struct work *work, uint64_t wake_at)
{
	const struct adsm_pool_launch *launch = work->launch;
	struct adsm_kernel_block block = launch->block;
	uint64_t first, n = 0;

	my_work = work;
	adsm_crash_launch = launch->number;
	if (launch->waits) {
		run_waiting(work);
		return 0;
	}

	adsm_crash_block = &block;
	while ((first = atomic_fetch_add(&work->next, work->chunk)) < work->end) {
		uint64_t last = work->end - first < work->chunk ? work->end : first + work->chunk;

		find_index(&block, first);
		if (launch->ops && !n)
			launch->ops->begin(launch);
		n += last - first;
		adsm_crash_in_kernel = true;
		for (; first < last; first++) {
			if (launch->ops)
				launch->ops->run(launch, &block);
			else
				launch->run(&block, launch->args);
			if (++block.index[0] < block.grid[0])
				continue;
			block.index[0] = 0;
			if (++block.index[1] < block.grid[1])
				continue;
			block.index[1] = 0;
			block.index[2]++;
		}
		adsm_crash_in_kernel = false;
		if (wake_at && last < work->end && adsm_os_now_ns() >= wake_at) {
			adsm_os_wake(&opened, INT_MAX, false);
			wake_at = 0;
		}
	}
	adsm_crash_block = NULL;
	if (launch->ops && n)
		launch->ops->end(launch);
	return n;
}

void adsm_pool_expect(uint64_t n_blocks)
{
	if (adsm_pool_running)
		atomic_store(adsm_pool_running, adsm_pool_crew(n_blocks, n_threads));
}

static int run(const struct adsm_pool_launch *launch)
{
	struct work *work = &works[launch->lane];
	uint64_t expected, n, now;
	uint32_t n_in_launch;

	work->launch = launch;
	work->end = launch->first + launch->n;
	work->chunk = launch->n / n_threads / 16;
	if (work->chunk < 1)
		work->chunk = 1;
	if (work->chunk > CHUNK_MAX)
		work->chunk = CHUNK_MAX;
	atomic_store(&work->error, 0);
	atomic_store(&work->next, launch->first);
	if (n_threads <= 1 || launch->n <= 1) {
		run_blocks(work, 0);
		return atomic_load(&work->error);
	}
	/* If blocks may wait, other threads must run before the first block waits: wake them immediately. */
	expected = launch->waits ? WAKE_NS : atomic_load(launch->block_ns) * launch->n;
	work->number = work->number + 1 ? work->number + 1 : 1;
	atomic_store(&work->open, work->number);
	atomic_fetch_add(&opened, 1);
	if (expected >= WAKE_NS)
		adsm_os_wake(&opened, INT_MAX, false);
	now = adsm_os_now_ns();		/* the call above can take longer than the blocks */
	n = run_blocks(work, expected >= WAKE_NS ? 0 : now + WAKE_NS);
	if (n)
		atomic_store(launch->block_ns, (adsm_os_now_ns() - now) / n);
	atomic_store(&work->open, 0);
	now = adsm_os_now_ns();
	while ((n_in_launch = atomic_load(&work->n_in_launch))) {
		if (adsm_os_now_ns() - now < WAKE_NS)
			adsm_process_pause();
		else
			adsm_os_wait(&work->n_in_launch, n_in_launch, 0, false);
	}
	return atomic_load(&work->error);
}

/* ---- launches whose blocks wait for each other: in each turn, all that can continue run until they wait again */

static struct {
	void **states;			/* by block of the launch */
	_Atomic uint8_t *why;		/* the last result of step(); STEP_FIRST, STEP_ENDED */
	bool open;			/* all blocks were at their common barrier */
	_Atomic uint64_t spins, at_barrier;	/* blocks, in this turn */
} steps;

enum { STEP_ENDED, STEP_AT_BARRIER, STEP_SPINS, STEP_FIRST };

static void step_begin(const struct adsm_pool_launch *launch)
{
}

static void step_run(const struct adsm_pool_launch *launch, const struct adsm_kernel_block *block)
{
	const uint64_t number = ((uint64_t)block->index[2] * block->grid[1] + block->index[1]) * block->grid[0] +
				block->index[0] - launch->first;
	uint8_t why = steps.why[number];

	if (why == STEP_ENDED)
		return;
	if (why != STEP_AT_BARRIER || steps.open)
		why = (uint8_t)launch->step(block, launch->args, &steps.states[number], steps.open);
	steps.why[number] = why;
	if (why != STEP_ENDED)
		atomic_fetch_add(why == STEP_AT_BARRIER ? &steps.at_barrier : &steps.spins, 1);
}

static const struct adsm_pool_ops step_ops = { .begin = step_begin, .run = step_run, .end = step_begin };

static int run_steps(const struct adsm_pool_launch *launch)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	struct adsm_pool_launch turn = *launch;
	int error = 0;

	pthread_mutex_lock(&one);	/* of several lanes: the members of steps are those of one launch */

	turn.ops = &step_ops;
	steps.states = calloc(launch->n + 1, sizeof(*steps.states));
	steps.why = malloc(launch->n + 1);
	if (!steps.states || !steps.why) {
		error = -ENOMEM;
		strcpy(my_work->failure, "the device has no memory for the state of the blocks");
	} else {
		memset((void *)steps.why, STEP_FIRST, launch->n);
	}
	steps.open = false;
	while (!error) {
		atomic_store(&steps.spins, 0);
		atomic_store(&steps.at_barrier, 0);
		error = run(&turn);
		if (!steps.spins && !steps.at_barrier)
			break;
		steps.open = !steps.spins;
	}
	free(steps.states);
	free((void *)steps.why);
	pthread_mutex_unlock(&one);
	return error;
}

int adsm_pool_run(const struct adsm_pool_launch *launch)
{
	int error;

	my_work = &works[launch->lane];
	if (launch->step && !launch->ops)
		return run_steps(launch);

	if (launch->waits)
		adsm_pool_expect(launch->n);
	error = run(launch);
	/* Threads that joined after the last block was taken have not been subtracted. */
	if (launch->waits)
		adsm_pool_expect(0);
	return error;
}

/* ---- threads */

/* A wake-up may come late: join each launch only once, because run_waiting() subtracts the thread from the count. */
static void join(struct work *work, uint32_t *joined)
{
	uint32_t open;

	atomic_fetch_add(&work->n_in_launch, 1);
	open = atomic_load(&work->open);
	if (open && open != *joined)
		run_blocks(work, 0);
	*joined = open;
	if (atomic_fetch_sub(&work->n_in_launch, 1) == 1 && !atomic_load(&work->open))
		adsm_os_wake(&work->n_in_launch, 1, false);
}

static void *pool_main(void *arg)
{
	uint32_t joined[ADSM_PROCESS_LANES] = { 0 }, seen;

	adsm_crash_thread();
	for (;;) {
		seen = atomic_load(&opened);
		for (unsigned i = 0; i < n_lanes; i++)
			join(&works[i], &joined[i]);
		adsm_os_wait(&opened, seen, 0, false);
	}
	return NULL;
}

void adsm_pool_crowd(void)
{
	is_crowded = true;
}

uint64_t adsm_pool_spin_ns(void)
{
	return adsm_os_n_cpus() > 1 && !is_crowded ? WAKE_NS : 0;
}

int adsm_pool_thread(void *(*run)(void *))
{
	pthread_attr_t attr;
	pthread_t thread;
	int ret;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	ret = -pthread_create(&thread, &attr, run, NULL);
	pthread_attr_destroy(&attr);
	return ret;
}

/* ---- launches that another thread runs: a queue with one entry */

static struct {
	struct adsm_process_queue queue;
	const struct adsm_pool_launch *launch;
	int result;
	void (*wake)(void);
} begun;

static void *runner_main(void *arg)
{
	const uint64_t spin_ns = adsm_pool_spin_ns();

	adsm_crash_thread();
	while (adsm_process_queue_next(&begun.queue, spin_ns, false)) {
		void (*wake)(void) = begun.wake;

		begun.result = adsm_pool_run(begun.launch);
		adsm_process_queue_done(&begun.queue, false);
		if (wake)
			wake();
	}
	return NULL;
}

int adsm_pool_begin(const struct adsm_pool_launch *launch, void (*wake)(void))
{
	static bool started;
	int ret = started ? 0 : adsm_pool_thread(runner_main);

	if (ret)
		return ret;
	started = true;
	begun.launch = launch;
	begun.wake = wake;
	if (launch->waits)
		adsm_pool_expect(launch->n);
	adsm_process_queue_submit(&begun.queue, false);
	return 0;
}

bool adsm_pool_done(void)
{
	return atomic_load(&begun.queue.done) == atomic_load(&begun.queue.submitted);
}

int adsm_pool_result(void)
{
	return begun.result;
}

void adsm_pool_lanes(unsigned lanes)
{
	n_lanes = lanes;
}

int adsm_pool_start(unsigned threads)
{
	int ret = 0;

	n_threads = threads;
	for (unsigned i = 1; i < n_threads && !ret; i++)
		ret = adsm_pool_thread(pool_main);
	return ret;
}
