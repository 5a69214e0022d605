/* SPDX-License-Identifier: MIT */
/* queue.h - command queues: the order of operations, and events. */
#pragma once

#include "device.h"

/* Before create(), a queue has no operations. The queues of later lanes are created at their first launch. */
void adsm_cl_queue_init(struct adsm_cl_device *device, unsigned number);
int adsm_cl_queue_create(struct adsm_cl_queue *queue);
/* Wait until the driver has run the operations of the queue. Signals are blocked. */
void adsm_cl_queue_finish(struct adsm_cl_queue *queue);
/* Waits for the operations of the queue. Returns false if callbacks of a lost device may still come. */
bool adsm_cl_queue_destroy(struct adsm_cl_queue *queue);
/* If @error, the result of enqueueing a command, is 0: wait for the command, and release its event. */
cl_int adsm_cl_settle(struct adsm_cl_queue *queue, cl_int error, cl_event event);

/*
 * Begin an operation: wait for room, and take the lock; -ENODEV if the device is lost. Then enqueue one or more
 * commands, the last one with an event, and end the operation with this event, which is released. @error: the result of
 * enqueueing; if that failed, nothing was submitted.
 */
int adsm_cl_queue_begin(struct adsm_cl_queue *queue, struct adsm_sigset *old);
void adsm_cl_queue_abandon(struct adsm_cl_queue *queue, struct adsm_sigset *old);
int adsm_cl_queue_end(struct adsm_cl_queue *queue, struct adsm_sigset *old, cl_int error, cl_event event,
		     const char *what, uint64_t *ret_seq);
int adsm_cl_event_wait(struct adsm_device *device, struct adsm_device_event event, int *ret_status);
