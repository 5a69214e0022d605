/* SPDX-License-Identifier: MIT */
/*
 * task_flag.c - the flags of tasks.
 *
 * A set flag is one atomic load for a worker that waits for it. A worker that has to wait joins the flag's queue and
 * sleeps. The worker that sets the flag wakes all workers of the queue, and these have then passed, also if the flag is
 * cleared before they run. The words of flags contain a number of the task, so a new task finds all flags clear.
 */
#include "task_flag.h"

#include "base/os.h"

#include <errno.h>
#include <stdlib.h>

#define ROW 1024			/* flags that are allocated together */
#define CLEAR (adsm_task.flags)
#define SET (adsm_task.flags + 1)
#define WAITED (adsm_task.flags + 2)	/* the queue is not empty; begins and ends under the mutex */

struct flag {
	_Alignas(64) _Atomic uint64_t word;
	struct adsm_task_thread *first;	/* in the queue, in any order */
	pthread_mutex_t mutex;		/* protects the queue */
};

static struct flag *_Atomic rows[ADSM_TASK_FLAGS_MAX / ROW];

static struct flag *make_row(uint32_t row)
{
	struct flag *flags = aligned_alloc(64, ROW * sizeof(*flags)), *none = NULL;

	if (!flags)
		return NULL;
	for (uint32_t i = 0; i < ROW; i++) {
		atomic_init(&flags[i].word, 0);
		flags[i].first = NULL;
		pthread_mutex_init(&flags[i].mutex, NULL);
	}
	if (atomic_compare_exchange_strong(&rows[row], &none, flags))
		return flags;
	free(flags);
	return none;
}

/* The flag with this number, for a worker whose task has not failed. */
static struct flag *flag_of(struct adsm_task_thread *self, uint32_t id)
{
	struct flag *row;

	if (id >= ADSM_TASK_FLAGS_MAX)
		adsm_task_fail_by(self, -EINVAL, ADSM_TASK_NO_FLAG, id, ADSM_TASK_FLAGS_MAX - 1);
	row = atomic_load_explicit(&rows[id / ROW], memory_order_acquire);
	if (!row)
		row = make_row(id / ROW);
	if (!row)
		adsm_task_fail(-ENOMEM, "not enough memory for flag %u of worker %u", id, self->base.index);
	if (atomic_load_explicit(&adsm_task.failed, memory_order_relaxed))
		adsm_task_leave(self);
	return &row[id % ROW];
}

/* Set a flag with workers in its queue, and wake them. */
static void wake_all(struct flag *flag)
{
	struct adsm_task_thread *next;

	pthread_mutex_lock(&flag->mutex);
	/* Another worker may have set the flag meanwhile. */
	next = atomic_load(&flag->word) == WAITED ? flag->first : NULL;
	atomic_store(&flag->word, SET);
	while (next) {
		struct adsm_task_thread *thread = next;

		next = thread->next;
		adsm_task_go(thread);
		atomic_fetch_or(&thread->wake, ADSM_TASK_TRY);
		adsm_os_wake(&thread->wake, 1, false);
	}
	pthread_mutex_unlock(&flag->mutex);
}

void adsm_task_set_flag(struct adsm_task_worker *worker, uint32_t id)
{
	struct flag *flag = flag_of((struct adsm_task_thread *)worker, id);
	uint64_t word = atomic_load_explicit(&flag->word, memory_order_relaxed);

	do {
		if (word == WAITED) {
			wake_all(flag);
			return;
		}
	} while (!atomic_compare_exchange_weak_explicit(&flag->word, &word, SET, memory_order_release,
							memory_order_relaxed));
}

void adsm_task_clear_flag(struct adsm_task_worker *worker, uint32_t id)
{
	struct flag *flag = flag_of((struct adsm_task_thread *)worker, id);
	uint64_t word = SET;

	atomic_compare_exchange_strong(&flag->word, &word, CLEAR);
}

/* Join the queue, with the mutex held. Returns false if the flag is set. */
static bool join_queue(struct flag *flag, struct adsm_task_thread *self)
{
	uint64_t word = atomic_load(&flag->word);

	while (word != WAITED) {
		if (word == SET)
			return false;
		if (!atomic_compare_exchange_weak(&flag->word, &word, WAITED))
			continue;
		flag->first = NULL;
		break;
	}
	self->next = flag->first;
	flag->first = self;
	return true;
}

static void await_slow(struct flag *flag, struct adsm_task_thread *self, uint32_t id)
{
	uint64_t since, until = 0;

	while (adsm_task_spins(&until))
		if (atomic_load_explicit(&flag->word, memory_order_acquire) == SET)
			return;
	since = adsm_task_since();
	pthread_mutex_lock(&flag->mutex);
	if (!join_queue(flag, self)) {
		pthread_mutex_unlock(&flag->mutex);
		return;
	}
	atomic_store(&self->waits_for, id | ADSM_TASK_FLAG);
	atomic_fetch_add(&adsm_task.n_waiting, 1);
	self->counts[ADSM_TASK_FLAG_WAITS]++;
	adsm_task_sleep(self, &flag->mutex);
	atomic_fetch_sub(&adsm_task.n_waiting, 1);
	atomic_store(&self->waits_for, ADSM_TASK_RUNS);
	adsm_task_waited(self, since, id | ADSM_TASK_FLAG);
}

void adsm_task_await_flag(struct adsm_task_worker *worker, uint32_t id)
{
	struct adsm_task_thread *self = (struct adsm_task_thread *)worker;
	struct flag *flag = flag_of(self, id);

	if (atomic_load_explicit(&flag->word, memory_order_acquire) != SET)
		await_slow(flag, self, id);
	self->counts[ADSM_TASK_FLAGS]++;
}
