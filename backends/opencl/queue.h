/* SPDX-License-Identifier: MIT */
/* queue.h - command queues: the order of operations, and events. */
#ifndef ADSM_OPENCL_QUEUE_H
#define ADSM_OPENCL_QUEUE_H

#include "device.h"

int adsm_cl_queue_create(struct adsm_cl_device *device, unsigned number);
/* Waits for the operations on it; false: callbacks of a lost device are outstanding, and may still come. */
bool adsm_cl_queue_destroy(struct adsm_cl_queue *queue);
/* Wait for a command, where @error, from enqueueing it, is 0. Releases its event. */
cl_int adsm_cl_settle(struct adsm_cl_queue *queue, cl_int error, cl_event event);

/*
 * Begin an operation: wait for room, take the lock; -ENODEV when the device is lost. Then enqueue one or more
 * commands, the last with an event, and end with that. @error: what enqueueing returned; on failure nothing was
 * submitted. The event is released.
 */
int adsm_cl_queue_begin(struct adsm_cl_queue *queue, struct adsm_sigset *old);
void adsm_cl_queue_abandon(struct adsm_cl_queue *queue, struct adsm_sigset *old);
int adsm_cl_queue_end(struct adsm_cl_queue *queue, struct adsm_sigset *old, cl_int error, cl_event event,
		     const char *what, uint64_t *ret_seq);
int adsm_cl_event_wait(struct adsm_device *device, struct adsm_device_event event, int *ret_status);

#endif
