/* SPDX-License-Identifier: MIT */
/* coalesced.c - see coalesced.h. */
#include "run/wait/coalesced.h"

#include <errno.h>
#include <limits.h>

#include "run/wait/pending.h"

/* ---- without the lock */

/* The index of a queue in the list, or the index of the first free place. */
static uint32_t find(struct adsm_coalesced *coalesced, void *queue, bool *ret_found)
{
	uintptr_t known = 0;
	uint32_t i = 0;

	while (i < ADSM_COALESCED_MAX && (known = atomic_load(&coalesced->queues[i])) && known != (uintptr_t)queue + 1)
		i++;
	*ret_found = i < ADSM_COALESCED_MAX && known;
	return i;
}

bool adsm_coalesced_enter(struct adsm_home *home, void *queue)
{
	struct adsm_coalesced *coalesced = &adsm_pending_of(home)->coalesced;
	uint32_t others = atomic_fetch_add(&coalesced->n_inside, 1);
	bool found;

	/* Each of the other threads may need a place, too. */
	if (atomic_load(&home->coalesces) && (find(coalesced, queue, &found) + others < ADSM_COALESCED_MAX || found))
		return true;
	adsm_coalesced_leave(home, queue, false);
	return false;
}

void adsm_coalesced_leave(struct adsm_home *home, void *queue, bool given)
{
	struct adsm_coalesced *coalesced = &adsm_pending_of(home)->coalesced;
	bool found = false;

	while (given && !found) {
		uintptr_t none = 0;
		uint32_t i = find(coalesced, queue, &found);

		found = found || atomic_compare_exchange_strong(&coalesced->queues[i], &none, (uintptr_t)queue + 1);
	}
	if (atomic_fetch_sub(&coalesced->n_inside, 1) == 1 && atomic_load(&coalesced->ending))
		adsm_os_wake(&coalesced->n_inside, INT_MAX, false);
}

bool adsm_coalesced_has(struct adsm_home *home, void *queue)
{
	bool found;

	find(&adsm_pending_of(home)->coalesced, queue, &found);
	return found;
}

/* ---- with the lock */

void adsm_coalesced_begin(struct adsm_home *home, void *queue, uint64_t seq)
{
	struct adsm_coalesced *coalesced = &adsm_pending_of(home)->coalesced;

	coalesced->seq = seq;
	atomic_store(&coalesced->queues[0], (uintptr_t)queue + 1);
	atomic_store(&home->coalesces, !home->open);
}

/* No more threads come in. Wait until those inside have left: then the list of queues is complete. */
static int join(struct adsm_home *home, struct adsm_device_event *ret_event)
{
	struct adsm_coalesced *coalesced = &adsm_pending_of(home)->coalesced;
	void *queues[ADSM_COALESCED_MAX];
	uint32_t inside, n = 0;
	uintptr_t queue;

	while ((inside = atomic_load(&coalesced->n_inside)))
		adsm_os_wait(&coalesced->n_inside, inside, 0, false);
	while (n < ADSM_COALESCED_MAX && (queue = atomic_load(&coalesced->queues[n])))
		queues[n++] = (void *)(queue - 1);
	return home->device->backend->driver->queue_join(home->device, queues, n, ret_event);
}

/* Lock held; it is given back while the driver works. Signals stay blocked. */
static int end(struct adsm_home *home)
{
	struct adsm_coalesced *coalesced = &adsm_pending_of(home)->coalesced;
	struct adsm_call *call = adsm_pending_call(home, coalesced->seq);
	struct adsm_device_event event = { 0 };
	int error;

	atomic_store(&coalesced->ending, true);
	adsm_coalesced_close(home);
	adsm_unlock(&home->lock);
	error = join(home, &event);
	adsm_lock(&home->lock);
	atomic_store(&coalesced->ending, false);
	if (!error || error == -ENODEV) {
		call->event = event;
		call->failed = error;
		coalesced->seq = 0;
		for (uint32_t i = 0; i < ADSM_COALESCED_MAX; i++)
			atomic_store(&coalesced->queues[i], 0);
		error = 0;
	}
	adsm_home_notify(home);
	return error;
}

int adsm_coalesced_end(struct adsm_home *home)
{
	struct adsm_coalesced *coalesced = &adsm_pending_of(home)->coalesced;
	struct adsm_sigset old;
	int error = 0;

	adsm_home_lock(home, &old);
	while (atomic_load(&coalesced->ending))
		adsm_home_wait(home);
	if (coalesced->seq)
		error = end(home);
	adsm_home_unlock(home, &old);
	return error;
}
