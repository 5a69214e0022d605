/* SPDX-License-Identifier: MIT */
/*
 * queue.h - queues of the program: which calls have an order among themselves.
 *
 * A queue has a lane on each device. Devices run the calls of a lane in order, and calls of several lanes at the same
 * time (caps.max_running). Calls of queues that share a lane have an order, which their program does not need.
 */
#pragma once

#include "adsm_queue.h"
#include "core/home.h"

/* Returns NULL, with an error text, if there are too many. */
adsmQueue *adsm_queue_create(void);
/* -EINVAL: there is no such queue. The same for the functions below. */
int adsm_queue_destroy(adsmQueue *queue);
/* The queue of this thread's later calls; NULL: the queue that all threads have at first. */
int adsm_queue_set(adsmQueue *queue);
/* Later calls of the queue begin after an operation of a device has ended. @copies: one of the backend's queues for
 * copies, or ADSM_QUEUE_COMPUTE, where @seq is the number of a call. */
int adsm_queue_await(adsmQueue *queue, const struct adsm_home *home, unsigned copies, uint64_t seq);
/* The lane of this thread's calls on @home. The thread has an entry (caller.h). */
unsigned adsm_queue_lane(const struct adsm_home *home);
/* Before a call on @home: wait for what the thread's queue waits for. The thread has an entry (caller.h), and holds no
 * lock. */
int adsm_queue_enter(const struct adsm_home *home);
