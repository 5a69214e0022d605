/* SPDX-License-Identifier: MIT */
/*
 * task_lock.c - the locks of tasks.
 *
 * A free lock goes to who comes, not to who waits: where there are more workers than processors the one that runs goes
 * on with it, and nobody has to be woken first. But those who wait stand in a queue, and when 64 have got the lock that
 * came after the first of them, it is handed over to that one.
 */
#include "task_lock.h"

#include "base/os.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define PAGE 1024			/* locks that are made at once */
#define WAITERS (~ADSM_TASK_OWNER)	/* in a lock's word: its queue is not empty */

struct lock {
	/* Who has it, from 1, or 0; and WAITERS, which changes under the mutex. */
	_Alignas(64) _Atomic uint32_t word;
	_Atomic uint64_t bypasses;	/* got while others waited; by who has it */
	struct adsm_task_thread *first, **end;
	pthread_mutex_t mutex;		/* of the queue */
};

static struct lock *_Atomic pages[ADSM_TASK_LOCKS_MAX / PAGE];
static _Atomic uint64_t most_bypassed;

static struct lock *make_page(uint32_t page)
{
	struct lock *locks = aligned_alloc(64, PAGE * sizeof(*locks)), *none = NULL;

	if (!locks)
		return NULL;
	for (uint32_t i = 0; i < PAGE; i++) {
		atomic_init(&locks[i].word, 0);
		atomic_init(&locks[i].bypasses, 0);
		locks[i].first = NULL;
		locks[i].end = &locks[i].first;
		pthread_mutex_init(&locks[i].mutex, NULL);
	}
	if (atomic_compare_exchange_strong(&pages[page], &none, locks))
		return locks;
	free(locks);
	return none;
}

/* Out of line, as are the other slow ways: the fast one saves no registers for them. */
static __attribute__((noinline)) struct lock *find_slow(struct adsm_task_thread *self, uint32_t id)
{
	struct lock *page;

	if (id >= ADSM_TASK_LOCKS_MAX) {
		adsm_task_fail(-EINVAL, "worker %u uses lock %u: the last one is %u", self->base.index, id,
			       ADSM_TASK_LOCKS_MAX - 1);
		adsm_task_leave(self);
	}
	page = make_page(id / PAGE);
	if (!page) {
		adsm_task_fail(-ENOMEM, "no memory for lock %u of worker %u", id, self->base.index);
		adsm_task_leave(self);
	}
	return &page[id % PAGE];
}

static inline struct lock *find(struct adsm_task_thread *self, uint32_t id)
{
	struct lock *page = id < ADSM_TASK_LOCKS_MAX ?
		atomic_load_explicit(&pages[id / PAGE], memory_order_acquire) : NULL;

	return page ? &page[id % PAGE] : find_slow(self, id);
}

/* Take a lock that nobody has. @waiters: what becomes of the flag; else it stays. */
static bool try_take(struct lock *lock, const struct adsm_task_thread *self, const uint32_t *waiters)
{
	uint32_t word = atomic_load(&lock->word);

	while (!(word & ADSM_TASK_OWNER)) {
		if (!atomic_compare_exchange_weak(&lock->word, &word,
						  self->id | (waiters ? *waiters : word & WAITERS)))
			continue;
		if (!waiters && (word & WAITERS))
			atomic_fetch_add_explicit(&lock->bypasses, 1, memory_order_relaxed);
		return true;
	}
	return false;
}

/* ---- the queue: all of these under the mutex */

static void put(struct lock *lock, struct adsm_task_thread *self)
{
	self->next = NULL;
	self->came = atomic_load_explicit(&lock->bypasses, memory_order_relaxed);
	*lock->end = self;
	lock->end = &self->next;
}

static struct adsm_task_thread *take_first(struct lock *lock)
{
	struct adsm_task_thread *first = lock->first;
	uint64_t n = atomic_load_explicit(&lock->bypasses, memory_order_relaxed) - first->came;
	uint64_t most = atomic_load_explicit(&most_bypassed, memory_order_relaxed);

	while (n > most && !atomic_compare_exchange_weak(&most_bypassed, &most, n))
		;
	lock->first = first->next;
	if (!lock->first)
		lock->end = &lock->first;
	return first;
}

/* Into the queue; false: it was free, and is taken. */
static bool join(struct lock *lock, struct adsm_task_thread *self)
{
	uint32_t word = atomic_load(&lock->word);

	for (;;) {
		if (try_take(lock, self, NULL))
			return false;
		word = atomic_load(&lock->word);
		if ((word & ADSM_TASK_OWNER) && atomic_compare_exchange_weak(&lock->word, &word, word | WAITERS))
			break;
	}
	put(lock, self);
	return true;
}

/* Where it is first, and was woken for that. */
static bool try_as_first(struct lock *lock, struct adsm_task_thread *self)
{
	const uint32_t waiters = self->next ? WAITERS : 0;

	if (!try_take(lock, self, &waiters))
		return false;
	take_first(lock);
	return true;
}

static void wake(struct adsm_task_thread *other, uint32_t why)
{
	if (other->asleep) {
		other->asleep = false;
		adsm_task_go(other);
	}
	atomic_fetch_or(&other->wake, why);
	adsm_os_wake(&other->wake, 1, false);
}

/* ---- taking one */

/* Until it has it, or is to try; with the mutex, which it gives back. Returns why it was woken. */
static uint32_t sleep_in(struct lock *lock, struct adsm_task_thread *self)
{
	uint32_t why;

	self->asleep = true;
	atomic_store(&self->wake, 0);
	if (atomic_load(&adsm_task.failed))
		atomic_store(&self->wake, ADSM_TASK_LEAVE);
	if (adsm_task_stop(self))
		adsm_task_all_stopped();
	pthread_mutex_unlock(&lock->mutex);
	while (!(why = atomic_load(&self->wake)))
		adsm_os_wait(&self->wake, 0, 0, false);
	return why;
}

static void wait_for(struct lock *lock, struct adsm_task_thread *self, uint32_t id)
{
	uint32_t why;

	atomic_store(&self->lock_word, &lock->word);
	atomic_store(&self->waits_for, id);
	atomic_fetch_add(&adsm_task.n_in_locks, 1);
	self->n_waits++;
	do {
		why = sleep_in(lock, self);
		if (why & ADSM_TASK_LEAVE)
			adsm_task_leave(self);
		pthread_mutex_lock(&lock->mutex);
		/* It may have got it after it was woken to try. */
		if (atomic_load(&self->wake) & ADSM_TASK_GOT) {
			self->n_handovers++;
			break;
		}
	} while (!try_as_first(lock, self));
	pthread_mutex_unlock(&lock->mutex);
	atomic_fetch_sub(&adsm_task.n_in_locks, 1);
	atomic_store(&self->waits_for, ADSM_TASK_RUNS);
}

static __attribute__((noinline)) void lock_slow(struct lock *lock, struct adsm_task_thread *self, uint32_t id)
{
	uint64_t until = 0;

	if ((atomic_load(&lock->word) & ADSM_TASK_OWNER) == self->id) {
		adsm_task_fail(-EDEADLK, "worker %u takes lock %u, which it has", self->base.index, id);
		adsm_task_leave(self);
	}
	while (adsm_task_spins(&until))
		if (try_take(lock, self, NULL))
			return;
	pthread_mutex_lock(&lock->mutex);
	if (join(lock, self))
		wait_for(lock, self, id);
	else
		pthread_mutex_unlock(&lock->mutex);
}

void adsm_task_lock(struct adsm_task_worker *worker, uint32_t id)
{
	struct adsm_task_thread *self = (struct adsm_task_thread *)worker;
	struct lock *lock = find(self, id);
	uint32_t none = 0;

	if (atomic_load_explicit(&adsm_task.failed, memory_order_relaxed))
		adsm_task_leave(self);
	if (!atomic_compare_exchange_strong_explicit(&lock->word, &none, self->id, memory_order_acquire,
						     memory_order_relaxed))
		lock_slow(lock, self, id);
	self->n_locks++;
}

/* ---- giving it back */

/* Somebody waits, or it is not the worker's. */
static __attribute__((noinline)) void unlock_slow(struct lock *lock, struct adsm_task_thread *self, uint32_t id)
{
	const uint32_t owner = atomic_load(&lock->word) & ADSM_TASK_OWNER;
	struct adsm_task_thread *first;

	if (owner != self->id) {
		if (owner)
			adsm_task_fail(-EPERM, "worker %u gives lock %u back, which worker %u has", self->base.index,
				       id, owner - 1);
		else
			adsm_task_fail(-EPERM, "worker %u gives lock %u back, which nobody has", self->base.index, id);
		adsm_task_leave(self);
	}
	pthread_mutex_lock(&lock->mutex);
	first = lock->first;
	if (atomic_load_explicit(&lock->bypasses, memory_order_relaxed) - first->came >= ADSM_TASK_BYPASS_MAX) {
		take_first(lock);
		atomic_store(&lock->word, first->id | (lock->first ? WAITERS : 0));
		wake(first, ADSM_TASK_GOT);
	} else {
		atomic_store(&lock->word, WAITERS);
		/* One that was woken and has not come yet will find it as it is then. */
		if (first->asleep)
			wake(first, ADSM_TASK_TRY);
	}
	pthread_mutex_unlock(&lock->mutex);
}

void adsm_task_unlock(struct adsm_task_worker *worker, uint32_t id)
{
	struct adsm_task_thread *self = (struct adsm_task_thread *)worker;
	struct lock *lock = find(self, id);
	uint32_t word = self->id;

	if (!atomic_compare_exchange_strong_explicit(&lock->word, &word, 0, memory_order_release,
						     memory_order_relaxed))
		unlock_slow(lock, self, id);
	self->n_unlocks++;
}

/* ---- all of them */

uint32_t adsm_task_held(uint32_t id)
{
	for (uint32_t p = 0; p < ADSM_TASK_LOCKS_MAX / PAGE; p++) {
		struct lock *page = atomic_load(&pages[p]);

		for (uint32_t i = 0; page && i < PAGE; i++)
			if ((atomic_load(&page[i].word) & ADSM_TASK_OWNER) == id)
				return p * PAGE + i;
	}
	return ADSM_TASK_LOCKS_MAX;
}

void adsm_task_locks_reset(void)
{
	for (uint32_t p = 0; p < ADSM_TASK_LOCKS_MAX / PAGE; p++) {
		struct lock *page = atomic_load(&pages[p]);

		for (uint32_t i = 0; page && i < PAGE; i++) {
			atomic_store(&page[i].word, 0);
			page[i].first = NULL;
			page[i].end = &page[i].first;
		}
	}
}

uint64_t adsm_task_bypassed(void)
{
	return atomic_load(&most_bypassed);
}
