/* SPDX-License-Identifier: MIT */
/*
 * task_crew.c - see task_crew.h.
 *
 * A tree shows whether any worker runs. Each node counts its parts that have a running worker. A worker that begins to
 * wait subtracts itself; the worker that wakes it adds it again before the wake. The worker that brings the root to 0
 * knows that no worker can wake another one any more: all are at the barrier, or the task is over, or it would wait
 * forever. At all other times a worker only changes counters that it shares with seven others.
 */
/* A worker may have a stack of its own, which the check of longjmp() would take for an error. */
#undef _FORTIFY_SOURCE

#include "task_crew.h"

#include "base/log.h"
#include "base/os.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#define FAN 8				/* number of workers, or nodes, below a node of the tree */
#define N_LEVELS 4			/* FAN to this power is at least the number of workers */
#define N_NODES (ADSM_TASK_WORKERS_MAX / FAN * 2)

struct adsm_task adsm_task;
struct adsm_task_thread *adsm_task_threads[ADSM_TASK_WORKERS_MAX];
_Thread_local struct adsm_task_thread *adsm_task_mine;

static pthread_mutex_t failing = PTHREAD_MUTEX_INITIALIZER;

/* ---- which workers run */

static struct {
	_Alignas(64) _Atomic uint32_t running;
} nodes[N_NODES];
static uint32_t first_node[N_LEVELS];	/* of each level, leaves first */
static uint32_t n_levels;

void adsm_task_start(void)
{
	uint32_t below = adsm_task.n, n, node = 0;

	n_levels = 0;
	do {
		n = (below + FAN - 1) / FAN;
		first_node[n_levels++] = node;
		for (uint32_t i = 0; i < n; i++, node++)
			atomic_store(&nodes[node].running, below - i * FAN < FAN ? below - i * FAN : FAN);
		below = n;
	} while (n > 1);
	if (adsm_task.running)
		atomic_store(adsm_task.running, adsm_task.n);
}

bool adsm_task_stop(struct adsm_task_thread *self)
{
	uint32_t i = self->base.index;

	if (adsm_task.running)
		atomic_fetch_sub(adsm_task.running, 1);
	for (uint32_t level = 0; level < n_levels; level++) {
		i /= FAN;
		if (atomic_fetch_sub(&nodes[first_node[level] + i].running, 1) != 1)
			return false;
	}
	return true;
}

void adsm_task_go(struct adsm_task_thread *other)
{
	uint32_t i = other->base.index;

	if (adsm_task.running)
		atomic_fetch_add(adsm_task.running, 1);
	for (uint32_t level = 0; level < n_levels; level++) {
		i /= FAN;
		if (atomic_fetch_add(&nodes[first_node[level] + i].running, 1))
			return;
	}
}

bool adsm_task_spins(uint64_t *until)
{
	uint64_t now;

	if (!adsm_task.spin_ns)
		return false;
	now = adsm_os_now_ns();
	if (!*until)
		*until = now + adsm_task.spin_ns;
	adsm_process_pause();
	return now < *until;
}

void adsm_task_sleep(struct adsm_task_thread *self, pthread_mutex_t *mutex)
{
	uint32_t why;

	atomic_store(&self->wake, 0);
	if (atomic_load(&adsm_task.failed))
		atomic_store(&self->wake, ADSM_TASK_LEAVE);
	if (adsm_task_stop(self))
		adsm_task_all_stopped();
	pthread_mutex_unlock(mutex);
	while (!(why = atomic_load(&self->wake)))
		adsm_os_wait(&self->wake, 0, 0, false);
	if (why & ADSM_TASK_LEAVE)
		adsm_task_leave(self);
}

/* ---- records of waits */

uint64_t adsm_task_since(void)
{
	return adsm_task.launch->record ? adsm_os_now_ns() : 0;
}

void adsm_task_waited(struct adsm_task_thread *self, uint64_t since, uint32_t what)
{
	struct adsm_task_record *record = adsm_task.launch->record;
	uint64_t ns;
	uint32_t i;

	if (!record)
		return;
	ns = adsm_os_now_ns() - since;
	i = atomic_fetch_add_explicit(&record->n_waits, 1, memory_order_relaxed);
	if (i < ADSM_TASK_WAITS)
		record->waits[i] = (struct adsm_task_wait){ { since, ns }, self->base.index, what };
	self->counts[what == ADSM_TASK_AT_BARRIER ? ADSM_TASK_BARRIER_WAIT_NS :
		     what & ADSM_TASK_FLAG ? ADSM_TASK_FLAG_WAIT_NS : ADSM_TASK_LOCK_WAIT_NS] += ns;
	if (what != ADSM_TASK_AT_BARRIER && !(what & ADSM_TASK_FLAG))
		adsm_task_hot_add(self->hot, (struct adsm_task_hot){ ns, what & ~(uint32_t)ADSM_TASK_HANDED, 1 });
}

/* ---- failures */

void adsm_task_fail(int error, const char *format, ...)
{
	struct adsm_task *task = &adsm_task;
	va_list args;
	int n;

	pthread_mutex_lock(&failing);
	if (!atomic_load(&task->failed)) {
		n = snprintf(task->text, ADSM_PROCESS_TEXT, "task '%s': ", task->name);
		va_start(args, format);
		vsnprintf(task->text + n, ADSM_PROCESS_TEXT - (size_t)n, format, args);
		va_end(args);
		task->status = error;
		atomic_store(&task->failed, 1);
		for (uint32_t i = 0; i < task->n; i++) {
			atomic_fetch_or(&adsm_task_threads[i]->wake, ADSM_TASK_LEAVE);
			adsm_os_wake(&adsm_task_threads[i]->wake, 1, false);
		}
		atomic_fetch_add(&task->barrier, 1);
		adsm_os_wake(&task->barrier, INT_MAX, false);
		if (atomic_load(&task->wake_others))
			atomic_load(&task->wake_others)();
		atomic_fetch_or(&task->left, ADSM_TASK_FAILED);
		adsm_os_wake(&task->left, 1, false);
	}
	pthread_mutex_unlock(&failing);
}

void adsm_task_failed_wait(void)
{
	pthread_mutex_lock(&failing);
	pthread_mutex_unlock(&failing);
}

_Noreturn void adsm_task_leave(struct adsm_task_thread *self)
{
	longjmp(self->leave, 1);
}

_Noreturn void adsm_task_fail_by(struct adsm_task_thread *self, int error, const char *format, ...)
{
	const struct adsm_task_ops *ops = adsm_task.launch->task_ops;
	char text[ADSM_PROCESS_TEXT];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	adsm_task_fail(error, "worker %u %s", self->number, text);
	if (ops && ops->failed)
		ops->failed(self->base.index, error);
	adsm_task_leave(self);
}

static struct adsm_task_state state_of(uint32_t worker)
{
	const struct adsm_task_thread *thread = adsm_task_threads[worker];
	struct adsm_task_state state = { .waits_for = atomic_load(&thread->waits_for) };

	if (state.waits_for < ADSM_TASK_LOCKS_MAX)
		state.holder = atomic_load(atomic_load(&thread->lock_word)) & ADSM_TASK_OWNER;
	return state;
}

void adsm_task_describe_deadlock(uint32_t n, struct adsm_task_state (*its_state_of)(uint32_t worker),
				 char ret_text[ADSM_PROCESS_TEXT])
{
	char text[ADSM_PROCESS_TEXT];
	uint32_t i = 0, what = ADSM_TASK_RUNS;

	for (; i < n; i++) {
		what = its_state_of(i).waits_for;
		if (what < ADSM_TASK_LOCKS_MAX || what & ADSM_TASK_FLAG)
			break;
	}
	(i < n ? adsm_task_describe_stopped : adsm_task_describe_barrier)(n, its_state_of, text);
	adsm_format(ret_text, ADSM_PROCESS_TEXT, "deadlock: %s", text);
}

void adsm_task_fail_waiting(int error, const char *text)
{
	char stopped[ADSM_PROCESS_TEXT];

	adsm_task_describe_stopped(adsm_task.n, state_of, stopped);
	adsm_task_fail(error, "%s%s%s", text, *stopped ? ", " : "", stopped);
}

static void fail_deadlock(void)
{
	char text[ADSM_PROCESS_TEXT];

	adsm_task_describe_deadlock(adsm_task.n, state_of, text);
	adsm_task_fail(-EDEADLK, "%s", text);
}

/* ---- the barrier, and the other reasons why no worker runs */

void adsm_task_all_stopped(void)
{
	struct adsm_task *task = &adsm_task;
	const uint32_t n_ended = atomic_load(&task->n_ended);

	if (n_ended == task->n || atomic_load(&task->failed))
		return;
	if (atomic_load(&task->n_waiting) || n_ended) {
		fail_deadlock();
	} else {
		task->n_barriers++;
		adsm_task_start();
		atomic_fetch_add(&task->barrier, 1);
		if (atomic_load(&task->sleepers))
			adsm_os_wake(&task->barrier, INT_MAX, false);
	}
}

void adsm_task_barrier(struct adsm_task_worker *worker)
{
	struct adsm_task_thread *self = (struct adsm_task_thread *)worker;
	struct adsm_task *task = &adsm_task;
	const uint32_t barrier = atomic_load(&task->barrier);
	const uint64_t since = adsm_task_since();
	uint64_t until = 0;
	bool last;

	if (atomic_load(&task->failed))
		adsm_task_leave(self);
	atomic_store(&self->waits_for, ADSM_TASK_AT_BARRIER);
	last = adsm_task_stop(self);
	if (last)
		adsm_task_all_stopped();
	while (atomic_load(&task->barrier) == barrier) {
		if (adsm_task_spins(&until))
			continue;
		atomic_fetch_add(&task->sleepers, 1);
		if (atomic_load(&task->barrier) == barrier)
			adsm_os_wait(&task->barrier, barrier, 0, false);
		atomic_fetch_sub(&task->sleepers, 1);
	}
	if (atomic_load(&task->failed))
		adsm_task_leave(self);
	atomic_store(&self->waits_for, ADSM_TASK_RUNS);
	if (!last)
		adsm_task_waited(self, since, ADSM_TASK_AT_BARRIER);
}
