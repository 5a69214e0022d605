/* SPDX-License-Identifier: MIT */
/* dataflow.c - calls by ranges of write-once units: the threads of a queue, turns, waits for calls, the stop. */
#include "step.h"

#include "lib/run/call/dataflow_queue.c"
#include "lib/run/call/dataflow_end.c"
#define find_range dataflow_find_range
#include "lib/run/call/dataflow.c"
#include "lib/run/call/once.c"

struct adsm_home adsm_homes[ADSM_MAX_DEVICES];
_Atomic int adsm_n_homes;
_Atomic uint32_t adsm_once_busy, adsm_once_in_calls[ADSM_MAX_DEVICES];
_Atomic(struct adsm_once_table *) adsm_once_table;
_Atomic uintptr_t *adsm_index_chunks;

/* These calls have no units, but for the one of start_busy(), which no thread takes. */
STEP_HAS_NEVER
STEP_NEVER(adsm_object_alloc)
STEP_NEVER(adsm_object_free)
STEP_NEVER(adsm_object_check_free)
STEP_NEVER(adsm_object_enter)
STEP_NEVER(adsm_copy_explicit)
STEP_NEVER(adsm_once_spin)
STEP_NEVER(adsm_once_wait_begin)
STEP_NEVER(adsm_once_wait_once)
STEP_NEVER(adsm_once_wait_end)
STEP_NEVER(adsm_once_sleep)
STEP_NEVER(adsm_once_set)
STEP_NEVER(adsm_once_fail)
STEP_NEVER(adsm_os_thread_start)
STEP_NEVER(adsm_once_destroy)
STEP_NEVER(adsm_wait_call)
STEP_NEVER(sched_yield)

static struct adsm_dataflow_queue *queue = &adsm_dataflow_queues[0];
static struct adsm_dataflow_call *calls[3];
static struct adsmKernel kernel;
static struct adsmModule module;
static struct adsm_kernel_info info = { .name = "kernel" };
static struct adsm_once_object object;
static struct adsm_once_shared *shared;
static struct adsm_dataflow_range range = { .object = &object, .count = 1 };
static uint64_t n_made, n_dropped;
static _Atomic uint32_t n_enterers;

/* Calls must be made in order, one at a time. */
int adsm_call(adsmKernel *of, adsmDim grid, adsmDim block, const adsmArg *args, size_t n, const void *where)
{
	STEP_CHECK(queue->turns[ADSM_DATAFLOW_START] == n_made);
	n_made++;
	return 0;
}

int adsm_sync(const void *where)
{
	return 0;
}

int adsm_home_set(int index)
{
	return 0;
}

void adsm_once_wake_all(struct adsm_once_table *table)
{
}

static void run_thread(void *arg)
{
	run_queue(queue);
}

static void enter_calls(void *arg)
{
	for (uintptr_t i = 0; i < (uintptr_t)arg; i++)
		STEP_CHECK(!enter(&adsm_homes[0], calls[i]));
	atomic_fetch_sub(&n_enterers, 1);
}

static void enter_last(void *arg)
{
	STEP_CHECK(!enter(&adsm_homes[0], calls[2]));
	atomic_fetch_sub(&n_enterers, 1);
}

/* As adsmModuleUnload() does, after all calls have been entered. */
static bool all_are_entered(void *arg)
{
	return !n_enterers;
}

static void unload(void *arg)
{
	step_await(all_are_entered, NULL);
	STEP_CHECK(!adsm_dataflow_leave(&module));
	STEP_CHECK(n_made == (uintptr_t)arg);
}

static bool threads_are_over(void *arg)
{
	return step_over("queue") && step_over("queue too");
}

void adsm_os_thread_join(struct adsm_thread *thread)
{
	step_await(threads_are_over, NULL);
}

static void stop(void *arg)
{
	STEP_CHECK(!adsm_dataflow_leave(&module));
	adsm_dataflow_stop();
}

size_t adsm_once_waiters(const void *address, adsmOnceWaiter *ret_waiters, size_t max)
{
	return 0;
}

/* As adsm_once_take() does: an object that cannot be freed can be used meanwhile. */
static void take(void *arg)
{
	STEP_CHECK(!atomic_load(&object.closing));
}

static void free_busy(void *arg)
{
	STEP_CHECK(adsm_once_free(&object) == -EBUSY);
}

static bool nobody_is_busy(void)
{
	return !adsm_once_busy && !queue->first;
}

static void make_queue(unsigned threads)
{
	memset(adsm_dataflow_queues, 0, sizeof(adsm_dataflow_queues));
	n_made = 0;
	atomic_init(&adsm_once_busy, 0);
	atomic_init(&adsm_dataflow_ended, 0);
	kernel.module = &module;
	queue->n_threads = threads;
	for (int i = 0; i < 3; i++) {
		calls[i] = step_alloc(sizeof(*calls[i]));
		calls[i]->kernel = &kernel;
	}
	step_constant(adsm_homes, sizeof(adsm_homes));
	step_plain(&n_made, sizeof(n_made));
	for (unsigned i = 0; i < threads; i++)
		step_thread(i ? "queue too" : "queue", run_thread, NULL, STEP_SERVER);
}

static void start_two(void)
{
	make_queue(2);
	atomic_init(&n_enterers, 1);
	step_thread("program", enter_calls, (void *)2, 0);
	step_thread("unloader", unload, (void *)2, 0);
}

static void start_three(void)
{
	make_queue(2);
	atomic_init(&n_enterers, 2);
	step_thread("program", enter_calls, (void *)2, 0);
	step_thread("other", enter_last, NULL, 0);
	step_thread("unloader", unload, (void *)3, 0);
}

static void start_stop(void)
{
	make_queue(2);
	step_thread("stopper", stop, NULL, 0);
}

/* A call waits for a unit of the object that one thread frees and another uses. */
static void start_busy(void)
{
	make_queue(0);
	kernel.info = &info;
	shared = step_alloc(sizeof(*shared) + 1);
	object.shared = shared;
	atomic_init(&object.closing, false);
	calls[0]->ranges = &range;
	calls[0]->n_ranges = 1;
	queue->first = calls[0];
	step_thread("free", free_busy, NULL, 0);
	step_thread("other", take, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct step_scenario scenarios[] = {
		{ .name = "two calls", .start = start_two, .settled = nobody_is_busy, .preemptions = 2,
		  .full_preemptions = 3 },
		{ .name = "three calls on two threads", .start = start_three, .settled = nobody_is_busy,
		  .preemptions = 1, .full_preemptions = 2 },
		{ .name = "the queues stop", .start = start_stop, .signals = 1 },
		{ .name = "a free that fails", .start = start_busy },
		{ .name = NULL },
	};

	return step_main(argc, argv, scenarios);
}
