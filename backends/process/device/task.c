/* SPDX-License-Identifier: MIT */
/* task.c - the threads of a task's workers, the memory that workers allocate, and the start and end of a task. */
#include "task.h"

#include "base/log.h"
#include "base/os.h"
#include "crash.h"
#include "task_crew.h"
#include "task_flag.h"
#include "task_lock.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SPIN_NS 10000			/* about the time of waking a thread */
#define LEAVE_NS UINT64_C(10000000000)	/* how long a worker of a failed task may compute before the process ends */

static uint32_t n_threads;

/* ---- memory: ordinary memory of this process, which all workers share */

struct memory {				/* followed by the worker's memory */
	_Alignas(64) struct memory *next;
	size_t size;			/* includes this structure */
};

static struct adsm_process_room *room;	/* device memory that allocations count against; NULL: not counted */

/* By address: an invalid pointer is detected without reading the memory before it. */
static struct memory *memories[4096];
static pthread_mutex_t allocating = PTHREAD_MUTEX_INITIALIZER;

static struct memory **bucket_of(const struct memory *memory)
{
	return &memories[(uintptr_t)memory / sizeof(*memory) % (sizeof(memories) / sizeof(memories[0]))];
}

static void *allocate(struct adsm_task_worker *worker, size_t size)
{
	struct memory *memory;

	if (!size || size > SIZE_MAX / 2)
		return NULL;
	size = (size + 2 * sizeof(*memory) - 1) & ~(sizeof(*memory) - 1);
	if (room && !adsm_process_take(room, size))
		return NULL;
	memory = aligned_alloc(sizeof(*memory), size);
	if (!memory) {
		if (room)
			adsm_process_give(room, size);
		return NULL;
	}
	memory->size = size;
	pthread_mutex_lock(&allocating);
	memory->next = *bucket_of(memory);
	*bucket_of(memory) = memory;
	pthread_mutex_unlock(&allocating);
	return memory + 1;
}

static void give_back(struct adsm_task_worker *worker, void *p)
{
	struct memory **at, *memory = (struct memory *)((uintptr_t)p - sizeof(*memory));

	if (!p)
		return;
	pthread_mutex_lock(&allocating);
	for (at = bucket_of(memory); *at && *at != memory; )
		at = &(*at)->next;
	if (*at)
		*at = memory->next;
	else
		memory = NULL;
	pthread_mutex_unlock(&allocating);
	if (!memory)
		adsm_task_fail_by((struct adsm_task_thread *)worker, -EINVAL, ADSM_TASK_FREES, p);
	if (room)
		adsm_process_give(room, memory->size);
	free(memory);
}

/* Nothing to do: memory is coherent here. */
static void flush(struct adsm_task_worker *worker, const volatile void *p)
{
}

/* ---- workers */

static const struct adsm_task_calls calls = {
	.size = sizeof(calls),
	.lock = adsm_task_lock,
	.unlock = adsm_task_unlock,
	.barrier = adsm_task_barrier,
	.flush = flush,
	.alloc = allocate,
	.free = give_back,
	.set_flag = adsm_task_set_flag,
	.await_flag = adsm_task_await_flag,
	.clear_flag = adsm_task_clear_flag,
};

static void describe_place(char *ret_text, size_t size)
{
	const struct adsm_task_thread *mine = adsm_task_mine;
	const struct adsm_task_ops *ops = mine ? adsm_task.launch->task_ops : NULL;
	uint32_t lock;

	if (!mine)
		return;
	lock = ops && ops->held ? ops->held(mine->base.index) : adsm_task_held(mine->id);
	if (lock < ADSM_TASK_LOCKS_MAX)
		adsm_format(ret_text, size, ", in worker %u, which holds lock %u", mine->number, lock);
	else
		adsm_format(ret_text, size, ", in worker %u", mine->number);
}

static void end(struct adsm_task_thread *self)
{
	const uint64_t n = self->counts[ADSM_TASK_LOCKS] - self->n_unlocks;

	if (n)
		adsm_task_fail_by(self, -EOWNERDEAD, ADSM_TASK_KEEPS_LOCK, adsm_task_held(self->id),
				  n > 1 ? ADSM_TASK_AND_MORE : "");
	atomic_store(&self->waits_for, ADSM_TASK_ENDED);
	atomic_fetch_add(&adsm_task.n_ended, 1);
	if (adsm_task_stop(self))
		adsm_task_all_stopped();
}

static void run(struct adsm_task_thread *self)
{
	const struct adsm_pool_launch *launch = adsm_task.launch;
	const uint64_t since = adsm_task_since();

	adsm_pool_block.launch = launch;
	adsm_pool_block.number = self->base.index;
	if (!setjmp(self->leave)) {
		adsm_crash_in_kernel = true;
		if (launch->task_ops)
			launch->task_ops->run(&self->base, launch);
		else
			launch->task(&self->base, launch->args);
		adsm_crash_in_kernel = false;
		end(self);
	}
	adsm_crash_in_kernel = false;
	adsm_pool_block.launch = NULL;
	if (!since)
		return;
	self->counts[ADSM_TASK_WORK_NS] = adsm_os_now_ns() - since;
	launch->record->workers[self->base.index] = (struct adsm_span){ since, self->counts[ADSM_TASK_WORK_NS] };
}

static void *thread_main(void *arg)
{
	struct adsm_task_thread *self;

	adsm_crash_thread();
	/* add_thread() made this thread last, and waits for it. */
	self = adsm_task_mine = adsm_task_threads[n_threads];
	atomic_store(&self->go, 1);
	adsm_os_wake(&self->go, 1, false);
	for (uint32_t number = 1, next;; number = next) {
		while ((next = atomic_load(&self->go)) == number)
			adsm_os_wait(&self->go, number, 0, false);
		run(self);
		if ((atomic_fetch_sub(&adsm_task.left, 1) & ~ADSM_TASK_FAILED) == 1)
			adsm_os_wake(&adsm_task.left, 1, false);
	}
	return NULL;
}

/* Start one more thread. */
static int add_thread(void)
{
	struct adsm_task_thread *thread = aligned_alloc(_Alignof(struct adsm_task_thread), sizeof(*thread));
	int ret;

	if (!thread)
		return -ENOMEM;
	memset(thread, 0, sizeof(*thread));
	thread->base.index = n_threads;
	thread->id = n_threads + 1;
	adsm_task_threads[n_threads] = thread;
	ret = adsm_pool_thread(thread_main);
	if (ret) {
		free(thread);
		return ret;
	}
	while (!atomic_load(&thread->go))
		adsm_os_wait(&thread->go, 0, 0, false);
	n_threads++;
	return 0;
}

static void begin(uint32_t n)
{
	struct adsm_task *task = &adsm_task;
	static uint32_t number = 1;	/* the value of go that new threads have seen */

	task->n = n;
	task->spin_ns = n <= adsm_os_n_cpus() && adsm_pool_spin_ns() ? SPIN_NS : 0;
	task->status = 0;
	task->n_barriers = 0;
	atomic_store(&task->failed, 0);
	atomic_store(&task->n_ended, 0);
	atomic_store(&task->n_waiting, 0);
	task->flags += ADSM_TASK_FLAG_STATES;
	atomic_store(&task->left, n);
	task->running = task->launch->waits ? adsm_pool_running : NULL;
	adsm_task_start();
	number = number + 1 > 1 ? number + 1 : 2;
	for (uint32_t i = 0; i < n; i++) {
		struct adsm_task_thread *thread = adsm_task_threads[i];

		thread->base.calls = task->launch->task_ops ? task->launch->task_ops->calls : &calls;
		thread->base.n = n;
		thread->number = i;
		thread->n_unlocks = 0;
		memset(thread->counts, 0, sizeof(thread->counts));
		memset(thread->hot, 0, sizeof(thread->hot));
		atomic_store(&thread->waits_for, ADSM_TASK_RUNS);
	}
	for (uint32_t i = 0; i < n; i++) {
		atomic_store(&adsm_task_threads[i]->go, number);
		adsm_os_wake(&adsm_task_threads[i]->go, 1, false);
	}
}

/* Wait until all workers have ended. */
static void await(struct adsm_process_shared *shared)
{
	struct adsm_task *task = &adsm_task;
	uint64_t until = 0, now;
	uint32_t left;

	while ((left = atomic_load(&task->left)) & ~ADSM_TASK_FAILED) {
		if (!(left & ADSM_TASK_FAILED)) {
			adsm_os_wait(&task->left, left, 0, false);
			continue;
		}
		now = adsm_os_now_ns();
		if (!until)
			until = now + LEAVE_NS;
		if (now >= until) {
			/* A thread that computes cannot be ended, except together with the process. */
			adsm_task_failed_wait();
			adsm_crash_alone();
			if (shared)
				adsm_process_say_end(shared, task->text);
			_exit(1);
		}
		adsm_os_wait(&task->left, left, until - now, false);
	}
	/* The thread that reported the failure may still be waking workers. */
	adsm_task_failed_wait();
}

/* Sum the counts of all workers. */
static void sum_up(uint64_t ret_counts[ADSM_TASK_N_COUNTS])
{
	const struct adsm_task *task = &adsm_task;
	struct adsm_task_record *record = task->launch->record;

	if (record)
		memset(record->hot, 0, sizeof(record->hot));
	for (uint32_t i = 0; i < task->n; i++) {
		const struct adsm_task_thread *thread = adsm_task_threads[i];

		for (unsigned k = 0; k < ADSM_TASK_N_COUNTS; k++)
			ret_counts[k] += thread->counts[k];
		for (unsigned k = 0; record && k < ADSM_TASK_HOT && thread->hot[k].n; k++)
			adsm_task_hot_add(record->hot, thread->hot[k]);
	}
	ret_counts[ADSM_TASK_WORKERS] = task->n;
	ret_counts[ADSM_TASK_BARRIERS] = task->n_barriers;
}

int adsm_task_run_all(const struct adsm_pool_launch *launch, const char *name, struct adsm_process_shared *shared,
		      uint64_t ret_counts[ADSM_TASK_N_COUNTS], char ret_text[ADSM_PROCESS_TEXT])
{
	struct adsm_task *task = &adsm_task;
	int ret = 0;

	memset(ret_counts, 0, ADSM_TASK_N_COUNTS * sizeof(*ret_counts));
	if (!launch->n || launch->n > ADSM_TASK_WORKERS_MAX) {
		snprintf(ret_text, ADSM_PROCESS_TEXT, "task '%s' has %lu workers: the number must be from 1 to %u",
			 name, (unsigned long)launch->n, ADSM_TASK_WORKERS_MAX);
		return -EINVAL;
	}
	while (n_threads < launch->n && !ret)
		ret = add_thread();
	if (ret) {
		snprintf(ret_text, ADSM_PROCESS_TEXT, "task '%s': worker %u of %lu could not be started: %s "
			 "(ulimit -u, -v)", name, n_threads, (unsigned long)launch->n, strerror(-ret));
		return ret;
	}
	adsm_crash_place = describe_place;
	room = shared ? &shared->room : NULL;
	task->launch = launch;
	task->name = name;
	task->text = ret_text;
	if (launch->record)
		atomic_store(&launch->record->n_waits, 0);
	begin((uint32_t)launch->n);
	await(shared);
	if (task->running)
		atomic_store(task->running, 0);
	if (task->status)
		adsm_task_locks_reset();
	sum_up(ret_counts);
	return task->status;
}
