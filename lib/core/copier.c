/* SPDX-License-Identifier: MIT */
/* copier.c - the queue of requests to the copier, and the threads that wait for it. */
#include "core/copier.h"

#include <errno.h>
#include <signal.h>

#include "core/spent.h"

/* A thread's request. It lies on the thread's stack, which stays, because signals are blocked there. */
struct adsm_copy_request {
	struct adsm_copy_request *next;
	int (*run)(void *arg);
	void *arg;
	int error;
	_Atomic uint32_t done;
};

uint64_t adsm_look_ns = 1000000000;

/* The copier uses this stack, so this thread cannot continue without the copier's answer. */
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
		adsm_error("a touch of shared memory of device %d does not end: the driver waits for the lock at %p; "
			   "its holder does not continue, or is this thread, in a signal handler that has interrupted "
			   "malloc(), free() or the driver", home->index, (void *)(uintptr_t)now.lock);
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

bool adsm_copier_run_until(struct adsm_home *home, int (*run)(void *arg), void *arg, uint64_t until_ns)
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

int adsm_copier_run(struct adsm_home *home, int (*run)(void *arg), void *arg)
{
	struct adsm_copy_request request = { .run = run, .arg = arg };
	uint64_t start = adsm_os_now_ns();

	ask_copier(home, &request);
	wait_for_copier(home, &request);
	start = adsm_os_now_ns() - start;
	adsm_spent.moved_ns += start;
	adsm_spend(start);
	return request.error;
}

bool adsm_copier_serve(struct adsm_home *home)
{
	struct adsm_copy_request *request = atomic_exchange(&home->copy_requests, NULL), *next;
	bool any = request;

	for (; request; request = next) {
		next = request->next;
		request->error = request->run(request->arg);
		/* Once `done` is set the request may be gone. Waking an address that is no longer a futex is
		 * harmless. */
		atomic_store(&request->done, 1);
		adsm_os_wake(&request->done, 1, false);
	}
	return any;
}
