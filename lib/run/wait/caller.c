/* SPDX-License-Identifier: MIT */
/* caller.c - the threads that make calls. */
#include "run/wait/caller.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/life.h"

#define ERRNO_BITS 12			/* bits of an errno in failed; the other bits have the thread's number */
#define ERRNO_MASK ((UINT64_C(1) << ERRNO_BITS) - 1)
/*
 * Destructors of the program's may still make calls and syncs. So the entry is given back only in the third round of
 * the thread's destructors. There may be only four rounds, and if the first call is made by a destructor, ours begin
 * with the second. Errors that are not collected by then are dropped. A call after that takes another entry, which is
 * never reused.
 */
#define ROUNDS 3

_Thread_local struct adsm_calls adsm_calls;

static _Atomic uint64_t next_thread_id = 1;
static struct adsm_caller *free_callers;
static struct adsm_mutex mutex = ADSM_MUTEX_INIT(ADSM_RANK_CALLERS);	/* for free_callers; no
									   lock is taken under it */
static pthread_key_t key;		/* its destructor shows that a thread ends */
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
	for (int i = 0; i < ADSM_MAX_DEVICES; i++) {
		atomic_store(&caller->failed[i], thread << ERRNO_BITS);
		/* all: a thread that had another entry may have calls that have not ended */
		caller->lanes[i] = UINT8_MAX;
	}
	caller->newest_seq = 0;
}

static void end_thread(void *arg)
{
	struct adsm_caller *caller = arg;

	if (++caller->round < ROUNDS && !pthread_setspecific(key, caller))
		return;
	adsm_calls.caller = NULL;
	renew(caller, 0);
	/* In the child of a fork a thread of the parent may hold the mutex forever. */
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
		caller->queue = NULL;
		renew(caller, thread);
		/* Without the key the entry is not reused. Nothing else changes. */
		if (has_key)
			pthread_setspecific(key, caller);
	} else if (atomic_load_explicit(&caller->failed[0], memory_order_relaxed) >> ERRNO_BITS != thread) {
		renew(caller, thread);
	}
	return caller;
}

void adsm_caller_failed(struct adsm_caller *caller, uint64_t thread, int index, int status, const char *why)
{
	uint64_t none = thread << ERRNO_BITS;

	/* Not if the thread has an older error, and not if it has ended. */
	if (atomic_compare_exchange_strong(&caller->failed[index], &none, none | (uint64_t)-status))
		adsm_failure_copy(caller->why[index], why);
}

bool adsm_caller_has_failed(int index)
{
	struct adsm_caller *own = adsm_calls.caller;

	return own && atomic_load(&own->failed[index]) & ERRNO_MASK;
}

int adsm_caller_collect(int index, char ret_why[ADSM_FAILURE_TEXT])
{
	struct adsm_caller *own = adsm_calls.caller;
	int error;

	if (!own)
		return 0;
	error = -(int)(atomic_fetch_and(&own->failed[index], ~ERRNO_MASK) & ERRNO_MASK);
	if (error)
		adsm_failure_copy(ret_why, own->why[index]);
	return error;
}
