/* SPDX-License-Identifier: MIT */
/* task.c - the workers of a task: their locks, flags and barrier, and how all of them leave a task that has failed. */
/* A lock is handed over after one other worker has overtaken the first in the queue. */
#define ADSM_TASK_BYPASS_MAX 1

#include "step.h"

/* No thread spins before it sleeps, and no thread that must leave takes too long. */
#define adsm_os_now_ns() UINT64_C(1)

#include "backends/process/shared.c"
#include "backends/process/device/task_crew.c"
#include "backends/process/device/task_lock.c"
#include "backends/process/device/task_flag.c"
#include "backends/process/device/task.c"

_Thread_local bool adsm_crash_in_kernel;
_Thread_local struct adsm_pool_block adsm_pool_block;
_Atomic uint32_t *_Atomic adsm_pool_running;
void (*adsm_crash_place)(char *ret_text, size_t size);

static int n_started;
static int counter, passed[2];
static struct adsm_pool_launch a_launch;
static char text[ADSM_PROCESS_TEXT];
static uint64_t counts[ADSM_TASK_N_COUNTS];

void adsm_crash_thread(void)
{
}

void adsm_crash_alone(void)
{
}

void adsm_task_describe_stopped(uint32_t n, struct adsm_task_state (*state_of)(uint32_t worker),
				char ret_text[ADSM_PROCESS_TEXT])
{
	*ret_text = '\0';
}

void adsm_task_describe_barrier(uint32_t n, struct adsm_task_state (*state_of)(uint32_t worker),
				char ret_text[ADSM_PROCESS_TEXT])
{
	*ret_text = '\0';
}

uint64_t adsm_pool_spin_ns(void)
{
	return 0;
}

int adsm_pool_thread(void *(*run)(void *))
{
	n_started++;
	return 0;
}

static bool is_started(void *arg)
{
	return n_started > (intptr_t)arg;
}

static void run_thread(void *arg)
{
	step_await(is_started, arg);
	thread_main(NULL);
}

/* ---- what workers do */

/* The first worker takes the lock again, before others that wait. */
static void count(struct adsm_task_worker *worker, const void *const *args)
{
	for (uint32_t i = !worker->index ? 0 : 1; i < 2; i++) {
		adsm_task_lock(worker, 0);
		STEP_CHECK(!counter);
		counter++;
		step_at(NULL, "", 0, "is inside");
		counter--;
		adsm_task_unlock(worker, 0);
	}
}

static void meet(struct adsm_task_worker *worker, const void *const *args)
{
	for (int i = 0; i < 2; i++) {
		passed[i]++;
		adsm_task_barrier(worker);
		STEP_CHECK(passed[i] == (int)worker->n);
	}
}

/* In some interleavings, each worker waits for the lock that the other one has. */
static void cross(struct adsm_task_worker *worker, const void *const *args)
{
	adsm_task_lock(worker, worker->index);
	adsm_task_lock(worker, !worker->index);
	adsm_task_unlock(worker, !worker->index);
	adsm_task_unlock(worker, worker->index);
}

/* Each worker sets a flag of its own, waits for the other one's, and clears it; twice. */
static void exchange(struct adsm_task_worker *worker, const void *const *args)
{
	const uint32_t me = worker->index, other = !worker->index;

	for (int i = 1; i < 3; i++) {
		passed[me] = i;
		adsm_task_set_flag(worker, me);
		adsm_task_await_flag(worker, other);
		STEP_CHECK(passed[other] >= i);
		adsm_task_clear_flag(worker, other);
		adsm_task_set_flag(worker, 2 + me);
		adsm_task_await_flag(worker, 2 + other);
		adsm_task_clear_flag(worker, 2 + other);
	}
}

/* Two wait for the flag of the first. */
static void broadcast(struct adsm_task_worker *worker, const void *const *args)
{
	if (worker->index) {
		adsm_task_await_flag(worker, 0);
		STEP_CHECK(counter == 1);
	} else {
		counter = 1;
		adsm_task_set_flag(worker, 0);
	}
}

/* Each waits for the other one's flag before it sets its own. */
static void await_first(struct adsm_task_worker *worker, const void *const *args)
{
	adsm_task_await_flag(worker, !worker->index);
	adsm_task_set_flag(worker, worker->index);
}

/* The first worker fails, while the others are before the lock, hold it, or are at the barrier. */
static void fail(struct adsm_task_worker *worker, const void *const *args)
{
	adsm_task_lock(worker, 0);
	if (!worker->index)
		adsm_task_unlock(worker, 1);
	adsm_task_unlock(worker, 0);
	adsm_task_barrier(worker);
}

/* ---- scenarios */

static void make_task(adsm_task_run *run, unsigned n)
{
	struct lock *page;
	struct flag *row;

	n_started = counter = 0;
	memset(passed, 0, sizeof(passed));
	memset(&adsm_task, 0, sizeof(adsm_task));
	n_threads = 0;
	pages[0] = NULL;
	page = make_page(0);
	rows[0] = NULL;
	row = make_row(0);
	most_bypassed = 0;
	a_launch = (struct adsm_pool_launch){ .task = run, .n = n };
	step_constant(a_launch.args, sizeof(a_launch.args));
	step_constant(page + 2, (PAGE - 2) * sizeof(*page));
	step_constant(nodes + 2, sizeof(nodes) - 2 * sizeof(nodes[0]));
	step_constant(adsm_task_threads + 4, sizeof(adsm_task_threads) - 4 * sizeof(adsm_task_threads[0]));
	step_constant(row + 4, (ROW - 4) * sizeof(*row));
	step_constant(rows + 1, sizeof(rows) - sizeof(rows[0]));
	step_constant(pages + 1, sizeof(pages) - sizeof(pages[0]));
	step_constant(memories, sizeof(memories));
	for (unsigned i = 0; i < n; i++)
		step_thread(i ? i == 1 ? "worker 1" : "worker 2" : "worker 0", run_thread, (void *)(uintptr_t)i,
			    STEP_SERVER);
}

static void run_tasks(void *arg)
{
	for (intptr_t i = 0; i < (intptr_t)arg; i++) {
		STEP_CHECK(!adsm_task_run_all(&a_launch, "", NULL, counts, text));
		memset(passed, 0, sizeof(passed));
		counter = 0;
	}
}

static void run_failing(void *arg)
{
	const int status = adsm_task_run_all(&a_launch, "", NULL, counts, text);

	STEP_CHECK(!status || status == (intptr_t)arg);
}

static void start_locks(void)
{
	make_task(count, 2);
	step_thread("launcher", run_tasks, (void *)1, 0);
}

static void start_three(void)
{
	make_task(count, 3);
	step_thread("launcher", run_tasks, (void *)1, 0);
}

static void start_barriers(void)
{
	make_task(meet, 2);
	step_thread("launcher", run_tasks, (void *)2, 0);
}

static void start_flags(void)
{
	make_task(exchange, 2);
	step_thread("launcher", run_tasks, (void *)1, 0);
}

static void start_broadcast(void)
{
	make_task(broadcast, 3);
	step_thread("launcher", run_tasks, (void *)2, 0);
}

static void start_flag_deadlock(void)
{
	make_task(await_first, 2);
	step_thread("launcher", run_failing, (void *)(intptr_t)-EDEADLK, 0);
}

static void start_deadlock(void)
{
	make_task(cross, 2);
	step_thread("launcher", run_failing, (void *)(intptr_t)-EDEADLK, 0);
}

static void start_failure(void)
{
	make_task(fail, 2);
	step_thread("launcher", run_failing, (void *)(intptr_t)-EPERM, 0);
}

int main(int argc, char **argv)
{
	static const struct step_scenario scenarios[] = {
		{ .name = "two take a lock", .start = start_locks, .preemptions = 3, .full_preemptions = 4 },
		{ .name = "two tasks with barriers", .start = start_barriers, .preemptions = 2, .full_preemptions = 3 },
		{ .name = "a deadlock ends", .start = start_deadlock, .preemptions = 2,
		  .full_preemptions = 3 },
		{ .name = "a task fails", .start = start_failure, .time = STEP_NO_TIME, .preemptions = 2,
		  .full_preemptions = 3 },
		{ .name = "two exchange flags", .start = start_flags, .preemptions = 2, .full_preemptions = 3 },
		{ .name = "two wait for a flag", .start = start_broadcast, .preemptions = 2, .full_preemptions = 3 },
		{ .name = "flags that no worker sets", .start = start_flag_deadlock, .preemptions = 2,
		  .full_preemptions = 3 },
		{ .name = "three take a lock", .start = start_three, .preemptions = 2, .full_preemptions = 3 },
		{ .name = NULL },
	};

	return step_main(argc, argv, scenarios);
}
