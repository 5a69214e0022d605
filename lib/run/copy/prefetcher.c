/* SPDX-License-Identifier: MIT */
/* prefetcher.c - see prefetcher.h. */
#include "run/copy/prefetcher.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "adsm_prefetch.h"
#include "base/log.h"
#include "core/life.h"
#include "core/observe.h"
#include "core/resident.h"
#include "run/wait/enter.h"

enum { TO_DEVICE, TO_HOST, N_DIRECTIONS };	/* plus ADSM_QUEUE_PREFETCH: the queue of an event */

/* How a prefetch ended, and when it ran. */
struct result {
	int error;			/* 0: it succeeded, or its result is not kept any more */
	int device;			/* where the object was at the end */
	struct adsm_span span;		/* start_ns 0: not known */
};

struct prefetcher {
	struct adsm_home *home;
	struct adsm_thread thread;
	_Atomic bool stop;
	_Atomic uint32_t given_word;	/* futex: changes when there is a prefetch, and at the stop */
	_Atomic uint32_t ended_word;	/* futex: changes when a prefetch has ended */
	/* The rest with the home's lock. Prefetches are numbered from 1, and end in their order. */
	struct adsm_prefetch *oldest, *newest;	/* those that have not begun */
	uint64_t n_given, n_ended;
	struct result results[ADSM_PREFETCHES_KEPT];	/* number % ADSM_PREFETCHES_KEPT */
};

static struct adsm_mutex mutex = ADSM_MUTEX_INIT(ADSM_RANK_HELPERS);	/* starting one */
static _Atomic(struct prefetcher *) prefetchers[ADSM_MAX_DEVICES][N_DIRECTIONS];

/* ---- the thread */

static struct adsm_prefetch *take(struct prefetcher *prefetcher)
{
	struct adsm_home *home = prefetcher->home;
	struct adsm_prefetch *prefetch;

	adsm_lock(&home->lock);
	prefetch = prefetcher->oldest;
	if (prefetch)
		prefetcher->oldest = prefetch->next;
	adsm_unlock(&home->lock);
	return prefetch;
}

static void end(struct prefetcher *prefetcher, struct result result)
{
	struct adsm_home *home = prefetcher->home;

	result.span.ns = adsm_os_now_ns() - result.span.start_ns;
	adsm_lock(&home->lock);
	prefetcher->results[++prefetcher->n_ended % ADSM_PREFETCHES_KEPT] = result;
	adsm_unlock(&home->lock);
	atomic_fetch_add(&prefetcher->ended_word, 1);
	adsm_os_wake(&prefetcher->ended_word, INT_MAX, false);
}

static void run_prefetcher(void *arg)
{
	struct prefetcher *prefetcher = arg;

	adsm_spent.in_background = true;
	for (;;) {
		uint32_t word = atomic_load(&prefetcher->given_word);
		bool stop = atomic_load(&prefetcher->stop);
		struct adsm_prefetch *prefetch = take(prefetcher);
		struct result result;

		if (!prefetch && stop)
			return;
		if (!prefetch) {
			adsm_os_wait(&prefetcher->given_word, word, 0, false);
			continue;
		}
		result.span.start_ns = adsm_os_now_ns();
		result.error = adsm_prefetch_run(prefetch);
		result.device = prefetch->home->index;
		free(prefetch);
		end(prefetcher, result);
	}
}

/* Find the thread of a home, or start it. */
static int get_prefetcher(struct adsm_home *home, int direction, struct prefetcher **ret_prefetcher)
{
	struct prefetcher *prefetcher;
	int error = 0;

	*ret_prefetcher = atomic_load(&prefetchers[home->index][direction]);
	if (*ret_prefetcher)
		return 0;
	adsm_mutex_lock(&mutex);
	prefetcher = atomic_load(&prefetchers[home->index][direction]);
	if (!prefetcher) {
		prefetcher = calloc(1, sizeof(*prefetcher));
		if (prefetcher)
			prefetcher->home = home;
		error = prefetcher ? adsm_os_thread_start(&prefetcher->thread, "adsm-prefetch", run_prefetcher,
							  prefetcher) : -ENOMEM;
		if (error)
			free(prefetcher);
		else
			atomic_store(&prefetchers[home->index][direction], prefetcher);
	}
	adsm_mutex_unlock(&mutex);
	*ret_prefetcher = prefetcher;
	return error ? adsm_fail(error, "cannot start a thread for prefetches (ulimit -u, ulimit -v)") : 0;
}

void adsm_prefetchers_stop(struct adsm_home *home)
{
	for (int direction = 0; direction < N_DIRECTIONS; direction++) {
		struct prefetcher *prefetcher = atomic_exchange(&prefetchers[home->index][direction], NULL);

		if (!prefetcher)
			continue;
		atomic_store(&prefetcher->stop, true);
		adsm_os_poke(&prefetcher->given_word);
		adsm_os_thread_join(&prefetcher->thread);
		free(prefetcher);
	}
}

/* ---- the program's threads */

/* With the home's lock. Returns the number of the prefetch. The caller pokes the thread without the lock. */
static uint64_t give(struct prefetcher *prefetcher, struct adsm_prefetch *prefetch)
{
	if (prefetcher->oldest)
		prefetcher->newest->next = prefetch;
	else
		prefetcher->oldest = prefetch;
	prefetcher->newest = prefetch;
	return ++prefetcher->n_given;
}

static int check_held(const struct adsm_object *object, size_t offset, size_t size)
{
	uint32_t b = (uint32_t)(offset >> object->blocks.shift);
	uint32_t last = (uint32_t)((offset + size - 1) >> object->blocks.shift);

	for (; object->blocks.n_holds && b <= last; b++)
		if (object->blocks.at[b].holds)
			return adsm_fail(-EBUSY, "%s is held: call adsmUnhold() first", ADSM_THE_OBJECT(object));
	return 0;
}

/* @target: NULL: the host. */
static int check_target(const struct adsm_object *object, const struct adsm_home *target, size_t offset, size_t size)
{
	const char *why;

	if (!target)
		return 0;
	if (target == object->home)
		return check_held(object, offset, size);
	why = adsm_object_why_fixed(object, target);
	if (why)
		return adsm_fail(-ENOTSUP, "%s cannot move from device %d to device %d: %s",
				 ADSM_THE_OBJECT(object), object->home->index, target->index, why);
	return check_held(object, 0, object->size);
}

/* Note what a prefetch is about. */
static int note(struct adsm_prefetch *prefetch, const void *p, size_t size)
{
	struct adsm_sigset old;
	struct adsm_object *object = adsm_enter_range(p, size, &old);
	struct adsm_home *home = object ? object->home : NULL;
	int error;

	if (!object)
		return -EINVAL;
	error = check_target(object, prefetch->to, (uintptr_t)p - object->start, size);
	prefetch->object = object;
	prefetch->home = home;
	prefetch->generation = object->generation;
	prefetch->offset = (uintptr_t)p - object->start;
	prefetch->size = size;
	prefetch->last_seq = home->last_seq;
	adsm_home_unlock(home, &old);
	return error;
}

static adsmEvent event_of(const struct adsm_home *home, unsigned direction, uint64_t number)
{
	return (adsmEvent){ (uint64_t)home->index,
			    (uint64_t)adsm_life.epoch << 32 | (ADSM_QUEUE_PREFETCH + direction), number };
}

int adsm_prefetch(const void *p, size_t size, int device, adsmEvent *ret_event, adsm_mover *mover, const void *where)
{
	const int direction = device == ADSM_HOST ? TO_HOST : TO_DEVICE;
	struct adsm_prefetch *prefetch = calloc(1, sizeof(*prefetch));
	struct prefetcher *prefetcher = NULL;
	struct adsm_sigset old;
	uint64_t number;
	int error = 0;

	if (!prefetch)
		return -ENOMEM;
	prefetch->direction = direction == TO_HOST ? ADSM_TO_HOST : ADSM_TO_DEVICE;
	prefetch->mover = mover;
	prefetch->cause = (struct adsm_cause){ .why = ADSM_WHY_PREFETCH, .where = (uintptr_t)where };
	if (direction == TO_DEVICE)
		error = adsm_home_get(device, &prefetch->to);
	if (!error)
		error = note(prefetch, p, size);
	if (!error)
		error = get_prefetcher(prefetch->to ? prefetch->to : prefetch->home, direction, &prefetcher);
	if (error) {
		free(prefetch);
		return error;
	}
	adsm_home_lock(prefetcher->home, &old);
	number = give(prefetcher, prefetch);
	/* The thread may do the prefetch, and free it, from here on. */
	adsm_home_unlock(prefetcher->home, &old);
	adsm_os_poke(&prefetcher->given_word);
	if (ret_event)
		*ret_event = event_of(prefetcher->home, (unsigned)direction, number);
	return 0;
}

/* ---- events */

/* Has a prefetch ended? -EBUSY: it has not. */
static int look(struct prefetcher *prefetcher, uint64_t number, struct result *ret_result)
{
	struct adsm_sigset old;
	int error = 0;

	adsm_home_lock(prefetcher->home, &old);
	if (!number || number > prefetcher->n_given)
		error = -EINVAL;
	else if (number > prefetcher->n_ended)
		error = -EBUSY;
	else if (prefetcher->n_ended - number >= ADSM_PREFETCHES_KEPT)
		*ret_result = (struct result){ 0 };
	else
		*ret_result = prefetcher->results[number % ADSM_PREFETCHES_KEPT];
	adsm_home_unlock(prefetcher->home, &old);
	return error;
}

static int result_of(adsmEvent event, bool wait, struct result *ret_result)
{
	const bool known = event.device < ADSM_MAX_DEVICES && event.queue >> 32 == adsm_life.epoch;
	struct prefetcher *prefetcher = known ?
		atomic_load(&prefetchers[event.device][(uint32_t)event.queue - ADSM_QUEUE_PREFETCH]) : NULL;
	uint64_t start = adsm_os_now_ns();
	int error = -EINVAL;

	while (prefetcher) {
		uint32_t word = atomic_load(&prefetcher->ended_word);

		error = look(prefetcher, event.seq, ret_result);
		if (error != -EBUSY || !wait)
			break;
		adsm_os_wait(&prefetcher->ended_word, word, 0, false);
	}
	if (wait)
		adsm_spend(adsm_os_now_ns() - start);
	return error == -EINVAL ? adsm_fail(error, "the event belongs to no prefetch since the library's start") :
		error ? adsm_fail(error, "the prefetch has not ended") : 0;
}

static int prefetch_error(adsmEvent event, const struct result *result)
{
	const struct adsm_home *home = &adsm_homes[event.device];

	if (!result->error)
		return 0;
	if (result->error == -EINVAL)
		return adsm_fail(-EINVAL, "the object was freed before its prefetch had ended");
	/* If a device was lost, it is the target, or the one that the object should leave. */
	if (!atomic_load(&home->device->lost))
		home = &adsm_homes[result->device];
	return adsm_fail(result->error, "a prefetch failed: %s", adsm_home_reason(home, result->error));
}

int adsm_prefetch_query(adsmEvent event)
{
	struct result result;
	int error = result_of(event, false, &result);

	return error ? error : prefetch_error(event, &result);
}

int adsm_prefetch_wait(adsmEvent event)
{
	struct result result;
	int error = result_of(event, true, &result);

	return error ? error : prefetch_error(event, &result);
}

int adsm_prefetch_times(adsmEvent event, uint64_t *ret_start_ns, uint64_t *ret_end_ns)
{
	struct result result;
	int error = result_of(event, false, &result);

	if (!error)
		error = prefetch_error(event, &result);
	if (!error && !result.span.start_ns)
		error = adsm_fail(-EINVAL, "the times of the prefetch are not known any more: the library keeps those "
				  "of the last %d prefetches to each side", ADSM_PREFETCHES_KEPT);
	if (error)
		return error;
	*ret_start_ns = result.span.start_ns;
	*ret_end_ns = result.span.start_ns + result.span.ns;
	return 0;
}
