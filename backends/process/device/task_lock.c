/* SPDX-License-Identifier: MIT */
/*
 * task_lock.c - the locks of tasks.
 *
 * A released lock goes to the next worker that tries to take it, not to one that waits. If there are more workers than
 * processors, a running worker takes the lock again, and no wake-up is necessary. Workers that wait are in a queue. A
 * release wakes the first one, and further releases do not wake it until it has tried: so taking and releasing the lock
 * is one atomic instruction each, as without waiters. When the lock was taken 64 times before the first waiter, it is
 * handed over to that waiter. So the queue advances at least once in 64 releases, however long it is.
 */
#include "task_lock.h"

#include "base/os.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define PAGE 1024			/* locks that are allocated together */
/* Bits of a lock's word; the lowest bits are the holder: */
#define WAITERS (ADSM_TASK_OWNER + 1)	/* the queue is not empty; changes under the mutex */
/* The queue's first is awake and will try; else it sleeps. Also changes under the mutex. */
#define COMING (WAITERS << 1)
#define PASS (COMING << 1)		/* from here up: how often the lock was taken before the first waiter */
#define PASSES_MAX (ADSM_TASK_BYPASS_MAX * PASS)

_Static_assert(ADSM_TASK_WORKERS_MAX <= ADSM_TASK_OWNER, "a lock's word has room for the id of its holder");

struct lock {
	_Alignas(64) _Atomic uint32_t word;
	struct adsm_task_thread *first, **end;
	pthread_mutex_t mutex;		/* protects the queue */
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
		locks[i].first = NULL;
		locks[i].end = &locks[i].first;
		pthread_mutex_init(&locks[i].mutex, NULL);
	}
	if (atomic_compare_exchange_strong(&pages[page], &none, locks))
		return locks;
	free(locks);
	return none;
}

/* The slow paths are separate functions: so the fast paths save no registers for them. */
static __attribute__((noinline)) struct lock *lock_of_slow(struct adsm_task_thread *self, uint32_t id)
{
	struct lock *page;

	if (id >= ADSM_TASK_LOCKS_MAX)
		adsm_task_fail_by(self, -EINVAL, ADSM_TASK_NO_LOCK, id, ADSM_TASK_LOCKS_MAX - 1);
	page = make_page(id / PAGE);
	if (!page) {
		adsm_task_fail(-ENOMEM, "not enough memory for lock %u of worker %u", id, self->base.index);
		adsm_task_leave(self);
	}
	return &page[id % PAGE];
}

static inline struct lock *lock_of(struct adsm_task_thread *self, uint32_t id)
{
	struct lock *page = id < ADSM_TASK_LOCKS_MAX ?
		atomic_load_explicit(&pages[id / PAGE], memory_order_acquire) : NULL;

	return page ? &page[id % PAGE] : lock_of_slow(self, id);
}

/* Take a free lock, before the workers in its queue. Returns false if it is held; *ret_word is its word. */
static bool try_take(struct lock *lock, const struct adsm_task_thread *self, uint32_t *ret_word)
{
	uint32_t word = atomic_load(&lock->word);

	while (!(word & ADSM_TASK_OWNER))
		if (atomic_compare_exchange_weak(&lock->word, &word, (word + self->id) + (word & WAITERS ? PASS : 0)))
			return true;
	*ret_word = word;
	return false;
}

/* ---- the queue; the mutex is held in all of these */

/* The queue's first has got the lock. @word: the lock's word before that. */
static void take_first(struct lock *lock, uint32_t word)
{
	struct adsm_task_thread *first = lock->first;
	uint64_t n = word / PASS, most = atomic_load_explicit(&most_bypassed, memory_order_relaxed);

	while (n > most && !atomic_compare_exchange_weak(&most_bypassed, &most, n))
		;
	lock->first = first->next;
	if (!lock->first)
		lock->end = &lock->first;
	atomic_store(&lock->word, first->id | (lock->first ? WAITERS : 0));
}

/* Join the queue. Returns false if the lock was free: then @self has taken it. */
static bool join(struct lock *lock, struct adsm_task_thread *self)
{
	uint32_t word;

	do {
		if (try_take(lock, self, &word))
			return false;
	} while (!atomic_compare_exchange_weak(&lock->word, &word, word | WAITERS));
	self->next = NULL;
	*lock->end = self;
	lock->end = &self->next;
	return true;
}

/* ---- taking a lock */

/* The worker is first in the queue and awake: try to take the lock. Returns false, with the mutex held, if others hold
 * the lock: the worker is to sleep again. */
static bool come(struct lock *lock, struct adsm_task_thread *self)
{
	uint32_t word = atomic_load(&lock->word);
	bool locked = false;
	uint64_t until = 0;

	for (;;) {
		const uint32_t owner = word & ADSM_TASK_OWNER;

		if (!owner && atomic_compare_exchange_weak(&lock->word, &word, word | self->id))
			break;
		if (owner == self->id) {
			self->counts[ADSM_TASK_HANDOVERS]++;
			if (locked)
				pthread_mutex_unlock(&lock->mutex);
			return true;
		}
		if (locked && owner && atomic_compare_exchange_weak(&lock->word, &word, word & ~COMING))
			return false;
		if (!locked && owner && !adsm_task_spins(&until)) {
			pthread_mutex_lock(&lock->mutex);
			locked = true;
		}
		word = atomic_load(&lock->word);
	}
	if (!locked)
		pthread_mutex_lock(&lock->mutex);
	take_first(lock, word);
	pthread_mutex_unlock(&lock->mutex);
	return true;
}

static void wait_for(struct lock *lock, struct adsm_task_thread *self, uint32_t id)
{
	const uint64_t since = adsm_task_since(), handovers = self->counts[ADSM_TASK_HANDOVERS];

	atomic_store(&self->lock_word, &lock->word);
	atomic_store(&self->waits_for, id);
	atomic_fetch_add(&adsm_task.n_waiting, 1);
	self->counts[ADSM_TASK_LOCK_WAITS]++;
	do {
		/* Until it is this worker's turn to try. */
		adsm_task_sleep(self, &lock->mutex);
	} while (!come(lock, self));
	atomic_fetch_sub(&adsm_task.n_waiting, 1);
	atomic_store(&self->waits_for, ADSM_TASK_RUNS);
	adsm_task_waited(self, since, self->counts[ADSM_TASK_HANDOVERS] > handovers ? id | ADSM_TASK_HANDED : id);
}

static __attribute__((noinline)) void lock_slow(struct lock *lock, struct adsm_task_thread *self, uint32_t id)
{
	uint64_t until = 0;
	uint32_t word;

	if ((atomic_load(&lock->word) & ADSM_TASK_OWNER) == self->id)
		adsm_task_fail_by(self, -EDEADLK, ADSM_TASK_HAS_LOCK, id);
	do {
		if (try_take(lock, self, &word))
			return;
	} while (adsm_task_spins(&until));
	pthread_mutex_lock(&lock->mutex);
	if (join(lock, self))
		wait_for(lock, self, id);
	else
		pthread_mutex_unlock(&lock->mutex);
}

void adsm_task_lock(struct adsm_task_worker *worker, uint32_t id)
{
	struct adsm_task_thread *self = (struct adsm_task_thread *)worker;
	struct lock *lock = lock_of(self, id);
	uint32_t none = 0;

	if (atomic_load_explicit(&adsm_task.failed, memory_order_relaxed))
		adsm_task_leave(self);
	if (!atomic_compare_exchange_strong_explicit(&lock->word, &none, self->id, memory_order_acquire,
						     memory_order_relaxed))
		lock_slow(lock, self, id);
	self->counts[ADSM_TASK_LOCKS]++;
}

/* ---- releasing a lock */

/* A worker waits for the lock, or the caller does not hold it. */
static __attribute__((noinline)) void unlock_slow(struct lock *lock, struct adsm_task_thread *self, uint32_t id)
{
	uint32_t word = atomic_load_explicit(&lock->word, memory_order_relaxed);
	const uint32_t owner = word & ADSM_TASK_OWNER;
	struct adsm_task_thread *first;

	if (owner != self->id)
		adsm_task_fail_by(self, -EPERM, owner ? ADSM_TASK_GIVES : ADSM_TASK_GIVES_FREE, id, owner - 1);
	while ((word & COMING) && word < PASSES_MAX)
		if (atomic_compare_exchange_weak_explicit(&lock->word, &word, word & ~ADSM_TASK_OWNER,
							  memory_order_release, memory_order_relaxed))
			return;
	/* With the mutex the word is stable: no worker can take the lock, or sleep. */
	pthread_mutex_lock(&lock->mutex);
	word = atomic_load(&lock->word);
	first = lock->first;
	if (!(word & COMING)) {
		adsm_task_go(first);
		atomic_fetch_or(&first->wake, ADSM_TASK_TRY);
	}
	if (word >= PASSES_MAX)
		take_first(lock, word);
	else
		atomic_store(&lock->word, (word & ~ADSM_TASK_OWNER) | COMING);
	pthread_mutex_unlock(&lock->mutex);
	if (!(word & COMING))
		adsm_os_wake(&first->wake, 1, false);
}

void adsm_task_unlock(struct adsm_task_worker *worker, uint32_t id)
{
	struct adsm_task_thread *self = (struct adsm_task_thread *)worker;
	struct lock *lock = lock_of(self, id);
	uint32_t word = self->id;

	if (!atomic_compare_exchange_strong_explicit(&lock->word, &word, 0, memory_order_release,
						     memory_order_relaxed))
		unlock_slow(lock, self, id);
	self->n_unlocks++;
	if (atomic_load_explicit(&adsm_task.failed, memory_order_relaxed))
		adsm_task_leave(self);
}

/* ---- all locks */

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
