/* SPDX-License-Identifier: MIT */
/*
 * transfer.c - transfers and the helper threads of a home.
 *
 * evictor: sends what the policy says is due, or the queue of closed blocks in the paper's mode; fetches what a
 *	    reader in sequence will want next.
 * copier:  calls the backend for threads inside a fault or signal handler, where it may not be called.
 * watcher: asks the backend whether calls have ended, for those who wait inside a fault and may not.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include "base/log.h"
#include "core/observe.h"
#include "base/options.h"
#include "core/transfer.h"

/* What a thread lets the copier do; lies on its stack, which stays: signals are blocked there. */
struct adsm_copy_request {
	struct adsm_copy_request *next;
	int (*run)(void *arg);
	void *arg;
	int error;
	_Atomic uint32_t done;
};

struct transfer {
	struct adsm_object *object;
	enum adsm_direction direction;
	size_t offset, size;
	const struct adsm_cause *cause;
};

_Thread_local uint64_t adsm_moved_ns;
void (*adsm_watch)(struct adsm_home *home);

static int transfer_now(void *arg)
{
	const struct transfer *transfer = arg;
	struct adsm_object *object = transfer->object;
	enum adsm_direction direction = transfer->direction;
	size_t offset = transfer->offset, size = transfer->size;
	const struct adsm_backend *backend = object->home->device->backend;
	void *before = NULL;
	uint64_t start, ns;
	int error;

	/* The copier does it for another thread. */
	if (adsm_observes(~0u) && transfer->cause != &adsm_cause)
		adsm_cause = *transfer->cause;
	if (direction == ADSM_TO_HOST && adsm_advises(object))
		before = adsm_advice_before_fetch(object, offset, size);
	start = adsm_os_now_ns();
	if (direction == ADSM_TO_HOST)
		error = backend->to_host(object->alias + offset, object->memory, offset, size, NULL);
	else
		error = backend->to_device(object->memory, offset, object->alias + offset, size, NULL);
	if (before)
		adsm_advice_after_fetch(object, before, offset, size, !error);
	if (error)
		return error;
	ns = adsm_os_now_ns() - start;
	adsm_moved_ns += ns;
	adsm_note_transfer(object, direction, offset, size, start, ns);
	return 0;
}

int adsm_transfer(struct adsm_object *object, enum adsm_direction direction, size_t offset, size_t size)
{
	struct transfer transfer = { object, direction, offset, size, &adsm_cause };

	/* The bytes are there already: nothing moves, nothing is counted. */
	if (object->home->device->caps.unified)
		return 0;
	return adsm_backend_run(object->home, transfer_now, &transfer);
}

uint64_t adsm_look_ns = 1000000000;

/* It works on what is on this stack, so this thread cannot go on without it. */
static void wait_for_copier(struct adsm_home *home, struct adsm_copy_request *request)
{
	struct adsm_os_look last = { 0, 0 }, now;
	unsigned n = 0;

	while (!atomic_load(&request->done)) {
		if (adsm_os_wait(&request->done, 0, adsm_look_ns, false) != -ETIMEDOUT ||
		    !atomic_load(&home->copier_id))
			continue;
		now = adsm_os_look_at(atomic_load(&home->copier_id));
		n = now.lock && now.lock == last.lock && now.ran_ns == last.ran_ns ? n + 1 : 0;
		last = now;
		if (n < ADSM_LOOKS || atomic_load(&request->done))
			continue;
		adsm_error("a touch of shared memory of device %d does not end: the driver waits for the lock at %p, "
			   "held by this thread, in a signal handler that has interrupted malloc(), free() or the "
			   "driver, or stuck", home->index, (void *)(uintptr_t)now.lock);
		adsm_os_die(SIGBUS);
	}
}

static void ask_copier(struct adsm_home *home, struct adsm_copy_request *request)
{
	request->next = atomic_load(&home->copy_requests);
	while (!atomic_compare_exchange_weak(&home->copy_requests, &request->next, request))
		;
	adsm_os_poke(&home->copy_word);
}

bool adsm_service_run_until(struct adsm_home *home, int (*run)(void *arg), void *arg, uint64_t until_ns)
{
	static struct adsm_copy_request requests[ADSM_MAX_DEVICES];
	struct adsm_copy_request *request = &requests[home->index];
	uint64_t now;

	if (!home->has_service)
		return false;
	*request = (struct adsm_copy_request){ .run = run, .arg = arg };
	ask_copier(home, request);
	while (!atomic_load(&request->done) && (now = adsm_os_now_ns()) < until_ns)
		adsm_os_wait(&request->done, 0, until_ns - now, false);
	return atomic_load(&request->done);
}

int adsm_backend_run(struct adsm_home *home, int (*run)(void *arg), void *arg)
{
	struct adsm_copy_request request = { .run = run, .arg = arg };
	uint64_t start;

	if (!adsm_in_fault || !home->has_service)
		return run(arg);
	start = adsm_os_now_ns();
	ask_copier(home, &request);
	wait_for_copier(home, &request);
	start = adsm_os_now_ns() - start;
	adsm_moved_ns += start;
	adsm_spend(start);
	return request.error;
}

/* In this order: stop is set before the word changes for it, so who sees the new word sees stop, too. */
static bool goes_on(struct adsm_home *home, const _Atomic uint32_t *word, uint32_t *ret_word)
{
	*ret_word = atomic_load(word);
	return !atomic_load(&home->stop);
}

static void run_copier(void *arg)
{
	struct adsm_home *home = arg;
	uint32_t word;

	adsm_spent.in_background = true;
	atomic_store(&home->copier_id, adsm_os_thread_id());
	while (goes_on(home, &home->copy_word, &word)) {
		struct adsm_copy_request *request = atomic_exchange(&home->copy_requests, NULL), *next;

		if (!request)
			adsm_os_wait(&home->copy_word, word, 0, false);
		for (; request; request = next) {
			next = request->next;
			request->error = request->run(request->arg);
			/* Once done is set the request is gone; waking an address that is no longer a
			 * futex is harmless. */
			atomic_store(&request->done, 1);
			adsm_os_wake(&request->done, 1, false);
		}
	}
}

static void run_watcher(void *arg)
{
	struct adsm_home *home = arg;
	uint32_t word;

	while (goes_on(home, &home->watch_word, &word)) {
		adsm_watch(home);
		adsm_os_wait(&home->watch_word, word, 0, false);
	}
}

static void run_evictor(void *arg)
{
	struct adsm_home *home = arg;
	uint32_t word;
	bool started;

	adsm_because(ADSM_WHY_EVICT, NULL, "");
	adsm_spent.in_background = true;
	while (goes_on(home, &home->evict_word, &word)) {
		adsm_lock(&home->lock);
		started = false;
		while (adsm_fetch_ahead(home) || adsm_send_queued(home) ||
		       (adsm_options.evict_batch != 1 && (started = adsm_evict_batch(home, started))))
			;
		home->evictor_sleeps = true;
		adsm_unlock(&home->lock);
		adsm_os_wait(&home->evict_word, word, 0, false);
	}
}

void adsm_evictor_wake(struct adsm_home *home)
{
	adsm_os_poke(&home->evict_word);
}

int adsm_service_start(struct adsm_home *home)
{
	int error;

	if (home->device->caps.signal_safe)
		return 0;
	error = adsm_os_thread_start(&home->copier, "adsm-copier", run_copier, home);
	if (error)
		return error;
	error = adsm_os_thread_start(&home->watcher, "adsm-watcher", run_watcher, home);
	if (error) {
		atomic_store(&home->stop, true);
		adsm_os_poke(&home->copy_word);
		adsm_os_thread_join(&home->copier);
		return error;
	}
	home->has_service = true;
	return 0;
}

int adsm_evictor_start(struct adsm_home *home)
{
	static struct adsm_mutex mutex = ADSM_MUTEX_INIT;
	int error = 0;

	if (atomic_load(&home->has_evictor))
		return 0;
	adsm_mutex_lock(&mutex);
	if (!atomic_load(&home->has_evictor)) {
		error = adsm_os_thread_start(&home->evictor, "adsm-evictor", run_evictor, home);
		if (!error)
			atomic_store(&home->has_evictor, true);
	}
	adsm_mutex_unlock(&mutex);
	return error;
}

void adsm_helpers_stop(struct adsm_home *home)
{
	atomic_store(&home->stop, true);
	if (home->has_evictor) {
		adsm_evictor_wake(home);
		adsm_os_thread_join(&home->evictor);
	}
	if (home->has_service) {
		adsm_os_poke(&home->copy_word);
		adsm_os_thread_join(&home->copier);
		adsm_os_poke(&home->watch_word);
		adsm_os_thread_join(&home->watcher);
	}
	home->has_evictor = home->has_service = false;
}
