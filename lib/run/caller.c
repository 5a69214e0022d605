/* SPDX-License-Identifier: MIT */
/* caller.c - the threads that make calls. */
#include "run/caller.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/life.h"

#define ERRNO_BITS 12			/* of a negative errno; the rest is the thread's number */
/*
 * Destructors of the program's may still call and sync: it goes in the third of its own rounds. There may be only four,
 * and where the first call is a destructor's, they may begin with the second. What has failed and is not collected by
 * then is dropped; a call after that takes another one, which nobody is given again.
 */
#define ROUNDS 3

/*
 * Given to another thread when its own has ended, but never freed: calls that still run point to it. The number of the
 * thread stands beside each error, so that what comes too late finds another one there.
 */
struct adsm_caller {
	struct adsm_caller *next_free;
	unsigned round;
	_Atomic uint64_t failed[ADSM_MAX_DEVICES];	/* thread << ERRNO_BITS | errno */
};

_Thread_local struct adsm_calls adsm_calls;

static _Atomic uint64_t next_thread_id = 1;
static struct adsm_caller *free_callers;
static struct adsm_mutex mutex = ADSM_MUTEX_INIT(ADSM_RANK_CALLERS);	/* of these; nothing is locked under it */
static pthread_key_t key;		/* holds a thread's own, to learn when it ends */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_key;

void adsm_calls_renew(void)
{
	if (adsm_calls.id && adsm_calls.epoch == adsm_life.epoch)
		return;
	adsm_calls = (struct adsm_calls){
		.id = atomic_fetch_add(&next_thread_id, 1), .caller = adsm_calls.caller, .epoch = adsm_life.epoch
	};
}

static void renew(struct adsm_caller *caller, uint64_t thread)
{
	for (int i = 0; i < ADSM_MAX_DEVICES; i++)
		atomic_store(&caller->failed[i], thread << ERRNO_BITS);
}

static void end_thread(void *arg)
{
	struct adsm_caller *caller = arg;

	if (++caller->round < ROUNDS && !pthread_setspecific(key, caller))
		return;
	adsm_calls.caller = NULL;
	renew(caller, 0);
	/* There another thread may have held it for ever. */
	if (adsm_is_child())
		return;
	adsm_mutex_lock(&mutex);
	caller->next_free = free_callers;
	free_callers = caller;
	adsm_mutex_unlock(&mutex);
}

static void make_key(void)
{
	has_key = !pthread_key_create(&key, end_thread);
}

static struct adsm_caller *take(void)
{
	struct adsm_caller *caller;

	adsm_mutex_lock(&mutex);
	caller = free_callers;
	if (caller)
		free_callers = caller->next_free;
	adsm_mutex_unlock(&mutex);
	return caller ? caller : malloc(sizeof(*caller));
}

struct adsm_caller *adsm_caller_get(uint64_t thread)
{
	struct adsm_caller *caller = adsm_calls.caller;

	if (!caller) {
		pthread_once(&once, make_key);
		caller = adsm_calls.caller = take();
		if (!caller)
			return NULL;
		caller->round = 0;
		renew(caller, thread);
		/* Without it the room is not used again, and that is all. */
		if (has_key)
			pthread_setspecific(key, caller);
	} else if (atomic_load_explicit(&caller->failed[0], memory_order_relaxed) >> ERRNO_BITS != thread) {
		renew(caller, thread);
	}
	return caller;
}

void adsm_caller_failed(struct adsm_caller *caller, uint64_t thread, int index, int status)
{
	uint64_t none = thread << ERRNO_BITS;

	/* Not where the thread has an older error, and not where it is gone. */
	atomic_compare_exchange_strong(&caller->failed[index], &none, none | (uint64_t)-status);
}

int adsm_caller_collect(int index)
{
	struct adsm_caller *own = adsm_calls.caller;
	uint64_t mask = ((uint64_t)1 << ERRNO_BITS) - 1;

	return own ? -(int)(atomic_fetch_and(&own->failed[index], ~mask) & mask) : 0;
}
