/* SPDX-License-Identifier: MIT */
/* queue.h - streams: the order of operations, and events. */
#pragma once

#include "device.h"

/* Before create(), a queue has no operations. The queues of later lanes are created at their first launch. */
void adsm_cuda_queue_init(struct adsm_cuda_device *device, unsigned number);
/* Call both functions with the device's context current. */
int adsm_cuda_queue_create(struct adsm_cuda_queue *queue);
/* Waits for the operations on the queue, unless the device is lost. */
void adsm_cuda_queue_destroy(struct adsm_cuda_queue *queue);
/* The two halves of that: end the queue's thread, which may wait in the driver; then release the driver's handles. */
void adsm_cuda_queue_stop(struct adsm_cuda_queue *queue);
void adsm_cuda_queue_drop(struct adsm_cuda_queue *queue);

/*
 * An operation: begin, then enqueue commands on queue->stream, then end. begin waits for room, takes the lock, and
 * makes the context current; it returns -ENODEV if the device is lost. @timed: it is the library's own launch. @error:
 * the result of enqueueing; if that failed, nothing was submitted, and end returns its errno.
 */
int adsm_cuda_queue_begin(struct adsm_cuda_queue *queue, bool timed, struct adsm_cuda_scope *scope);
/* Between begin and end: set the kernel's name, for messages. */
void adsm_cuda_queue_name(struct adsm_cuda_queue *queue, const char *kernel);
int adsm_cuda_queue_end(struct adsm_cuda_queue *queue, struct adsm_cuda_scope *scope, CUresult error, const char *what,
			uint64_t *ret_seq);
/* Wait for the commands that @enqueue puts on the stream, without numbers. Several threads may call it at a time. */
int adsm_cuda_queue_now(struct adsm_cuda_queue *queue, CUresult (*enqueue)(const void *arg, CUstream stream),
			const void *arg, const char *what);
int adsm_cuda_event_wait(struct adsm_device *device, struct adsm_device_event event, int *ret_status);
int adsm_cuda_queue_follow(struct adsm_device *device, void *stream);
int adsm_cuda_queue_join(struct adsm_device *device, void *const *streams, size_t n,
			 struct adsm_device_event *ret_event);
