/* SPDX-License-Identifier: MIT */
/* gather.c - see gather.h. */
#include "run/gather.h"

#include <errno.h>
#include <limits.h>

/* ---- without the lock */

/* The index of a queue in the list, or the index of the first free place. */
static uint32_t find(struct adsm_gather *gather, void *queue, bool *ret_found)
{
	uintptr_t known = 0;
	uint32_t i = 0;

	while (i < ADSM_GATHER_MAX && (known = atomic_load(&gather->queues[i])) && known != (uintptr_t)queue + 1)
		i++;
	*ret_found = i < ADSM_GATHER_MAX && known;
	return i;
}

bool adsm_gather_enter(struct adsm_home *home, void *queue)
{
	struct adsm_gather *gather = &home->gather;
	uint32_t others = atomic_fetch_add(&gather->n_inside, 1);
	bool found;

	/* Each of the other threads may need a place, too. */
	if (atomic_load(&gather->open) && (find(gather, queue, &found) + others < ADSM_GATHER_MAX || found))
		return true;
	adsm_gather_leave(home, queue, false);
	return false;
}

void adsm_gather_leave(struct adsm_home *home, void *queue, bool given)
{
	struct adsm_gather *gather = &home->gather;
	bool found = false;

	while (given && !found) {
		uintptr_t none = 0;
		uint32_t i = find(gather, queue, &found);

		found = found || atomic_compare_exchange_strong(&gather->queues[i], &none, (uintptr_t)queue + 1);
	}
	if (atomic_fetch_sub(&gather->n_inside, 1) == 1 && atomic_load(&gather->ending))
		adsm_os_wake(&gather->n_inside, INT_MAX, false);
}

bool adsm_gather_has(struct adsm_home *home, void *queue)
{
	bool found;

	find(&home->gather, queue, &found);
	return found;
}

/* ---- with the lock */

void adsm_gather_begin(struct adsm_home *home, void *queue, uint64_t seq)
{
	struct adsm_gather *gather = &home->gather;

	gather->seq = seq;
	atomic_store(&gather->queues[0], (uintptr_t)queue + 1);
	atomic_store(&gather->open, !home->open);
}

/* No more threads come in. Wait until those inside have left: then the list of queues is complete. */
static int join(struct adsm_home *home, struct adsm_device_event *ret_event)
{
	struct adsm_gather *gather = &home->gather;
	void *queues[ADSM_GATHER_MAX];
	uint32_t inside, n = 0;
	uintptr_t queue;

	while ((inside = atomic_load(&gather->n_inside)))
		adsm_os_wait(&gather->n_inside, inside, 0, false);
	while (n < ADSM_GATHER_MAX && (queue = atomic_load(&gather->queues[n])))
		queues[n++] = (void *)(queue - 1);
	return home->device->backend->driver->queue_join(home->device, queues, n, ret_event);
}

/* Lock held; it is given back while the driver works. Signals stay blocked. */
static int end(struct adsm_home *home)
{
	struct adsm_gather *gather = &home->gather;
	struct adsm_call *call = &home->pending[gather->seq % ADSM_PENDING_MAX];
	struct adsm_device_event event = { 0 };
	int error;

	atomic_store(&gather->ending, true);
	adsm_gather_close(home);
	adsm_unlock(&home->lock);
	error = join(home, &event);
	adsm_lock(&home->lock);
	atomic_store(&gather->ending, false);
	if (!error || error == -ENODEV) {
		call->event = event;
		call->failed = error;
		gather->seq = 0;
		for (uint32_t i = 0; i < ADSM_GATHER_MAX; i++)
			atomic_store(&gather->queues[i], 0);
		error = 0;
	}
	adsm_home_notify(home);
	return error;
}

int adsm_gather_end(struct adsm_home *home)
{
	struct adsm_sigset old;
	int error = 0;

	adsm_home_lock(home, &old);
	while (atomic_load(&home->gather.ending))
		adsm_home_wait(home);
	if (home->gather.seq)
		error = end(home);
	adsm_home_unlock(home, &old);
	return error;
}
