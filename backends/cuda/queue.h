/* SPDX-License-Identifier: MIT */
/* queue.h - streams: the order of operations, and events. */
#ifndef ADSM_CUDA_QUEUE_H
#define ADSM_CUDA_QUEUE_H

#include "device.h"

/* Both with the device's context current. */
int adsm_cuda_queue_create(struct adsm_cuda_device *device, unsigned number);
/* Waits for the operations on the queue, unless the device is lost. */
void adsm_cuda_queue_destroy(struct adsm_cuda_queue *queue);
/* The two halves of that: the queue's thread, which may be waiting in the driver; then what is the driver's. */
void adsm_cuda_queue_stop(struct adsm_cuda_queue *queue);
void adsm_cuda_queue_drop(struct adsm_cuda_queue *queue);

/*
 * One operation: begin (room, lock, context; -ENODEV when the device is lost), enqueue commands on queue->stream, end.
 * @timed: a launch of the library's own. @error: what enqueueing returned; on failure nothing was submitted, and the
 * value is its errno.
 */
int adsm_cuda_queue_begin(struct adsm_cuda_queue *queue, bool timed, struct adsm_cuda_scope *scope);
/* In between: the kernel's name, for messages. */
void adsm_cuda_queue_name(struct adsm_cuda_queue *queue, const char *kernel);
int adsm_cuda_queue_end(struct adsm_cuda_queue *queue, struct adsm_cuda_scope *scope, CUresult error, const char *what,
			uint64_t *ret_seq);
/* Wait for what @enqueue puts on the queue's stream, without numbering it; any thread, several at once. */
int adsm_cuda_queue_now(struct adsm_cuda_queue *queue, CUresult (*enqueue)(const void *arg, CUstream stream),
			const void *arg, const char *what);
int adsm_cuda_event_wait(struct adsm_device *device, struct adsm_device_event event, int *ret_status);
int adsm_cuda_queue_follow(struct adsm_device *device, void *stream);
int adsm_cuda_queue_join(struct adsm_device *device, void *const *streams, size_t n,
			 struct adsm_device_event *ret_event);

#endif
