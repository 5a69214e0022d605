/* SPDX-License-Identifier: MIT */
/* queue.c - see queue.h. */
#include "run/wait/queue.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "core/life.h"
#include "run/wait/caller.h"
#include "run/wait/wait.h"

#define QUEUES_MAX 1024

struct adsmQueue {
	_Atomic uint32_t generation;	/* odd while the program has the queue */
	_Atomic unsigned epoch;		/* adsm_life.epoch of the numbers that follow; 0: there are none */
	/* for each device, the last operation that calls of the queue wait for: a call, or a copy; 0: none */
	_Atomic uint64_t seq[ADSM_MAX_DEVICES][ADSM_N_QUEUES];
};

static struct adsmQueue queues[QUEUES_MAX], first;	/* first: the queue that all threads have at first */
static struct adsm_mutex mutex = ADSM_MUTEX_INIT(ADSM_RANK_QUEUES);	/* making and ending queues, and their waits */


static bool is_live(const adsmQueue *queue)
{
	const uintptr_t offset = (uintptr_t)queue - (uintptr_t)queues;

	return offset < sizeof(queues) && !(offset % sizeof(*queues)) && atomic_load(&queue->generation) & 1;
}

static int no_queue(const adsmQueue *queue)
{
	return adsm_fail(-EINVAL, "%p is not a queue, or it was destroyed", (const void *)queue);
}

adsmQueue *adsm_queue_create(void)
{
	adsmQueue *queue = NULL;

	adsm_mutex_lock(&mutex);
	for (unsigned i = 0; i < QUEUES_MAX && !queue; i++)
		if (!(queues[i].generation & 1))
			queue = &queues[i];
	if (queue) {
		atomic_store(&queue->epoch, 0);
		atomic_fetch_add(&queue->generation, 1);
	}
	adsm_mutex_unlock(&mutex);
	if (!queue)
		adsm_fail(-ENOMEM, "there are %d queues already", QUEUES_MAX);
	return queue;
}

int adsm_queue_destroy(adsmQueue *queue)
{
	bool live;

	adsm_mutex_lock(&mutex);
	live = is_live(queue);
	if (live)
		atomic_fetch_add(&queue->generation, 1);
	adsm_mutex_unlock(&mutex);
	return live ? 0 : no_queue(queue);
}

int adsm_queue_set(adsmQueue *queue)
{
	struct adsm_caller *own;

	if (queue && !is_live(queue))
		return no_queue(queue);
	adsm_calls_renew();
	own = adsm_caller_get(adsm_calls.id);
	if (!own)
		return -ENOMEM;
	own->queue = queue;
	own->queue_generation = queue ? atomic_load(&queue->generation) : 0;
	return 0;
}

int adsm_queue_await(adsmQueue *queue, const struct adsm_home *home, unsigned copies, uint64_t seq)
{
	bool live;

	adsm_mutex_lock(&mutex);
	live = !queue || is_live(queue);
	queue = queue ? queue : &first;
	/* The numbers of an earlier start of the library mean nothing now. */
	if (live && atomic_load(&queue->epoch) != adsm_life.epoch) {
		for (int i = 0; i < ADSM_MAX_DEVICES; i++)
			for (int q = 0; q < ADSM_N_QUEUES; q++)
				atomic_store(&queue->seq[i][q], 0);
		atomic_store(&queue->epoch, adsm_life.epoch);
	}
	if (live && atomic_load(&queue->seq[home->index][copies]) < seq)
		atomic_store(&queue->seq[home->index][copies], seq);
	adsm_mutex_unlock(&mutex);
	return live ? 0 : no_queue(queue);
}

static int wait_for(struct adsm_home *home, unsigned copies, uint64_t seq)
{
	struct adsm_device_event event = { copies, seq };
	int status, error;

	if (copies == ADSM_QUEUE_COMPUTE)
		return adsm_wait_call(home, seq);
	error = adsm_wait_event(home, event, &status);
	return error ? adsm_fail(error, "cannot wait for an asynchronous copy of device %d", home->index) : 0;
}

unsigned adsm_queue_lane(const struct adsm_home *home)
{
	const adsmQueue *queue = adsm_calls.caller->queue;

	return queue && home->n_lanes > 1 ? 1 + (unsigned)(queue - queues) % (home->n_lanes - 1) : 0;
}

int adsm_queue_enter(const struct adsm_home *home)
{
	const struct adsm_caller *own = adsm_calls.caller;
	adsmQueue *queue = own->queue ? own->queue : &first;
	int error = 0;

	if (own->queue && atomic_load(&queue->generation) != own->queue_generation)
		return adsm_fail(-EINVAL, "the queue of this thread, %p, was destroyed", (void *)queue);
	if (atomic_load(&queue->epoch) != adsm_life.epoch)
		return 0;
	for (int i = 0; i < adsm_n_homes && !error; i++)
		for (unsigned q = 0; q < ADSM_N_QUEUES && !error; q++) {
			uint64_t seq = atomic_load(&queue->seq[i][q]);

			/* A call waits for all copies of its own device, and in a single lane for all calls. */
			if (seq && (&adsm_homes[i] != home || (q == ADSM_QUEUE_COMPUTE && home->n_lanes > 1)))
				error = wait_for(&adsm_homes[i], q, seq);
		}
	return error;
}
