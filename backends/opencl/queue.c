/* SPDX-License-Identifier: MIT */
/* queue.c - command queues whose operations have numbers. The driver's callbacks report that they are complete. */
#include "queue.h"

#include "once.h"

#define SPIN_NS 10000			/* how long a thread stays awake for the end of a short kernel */
#define POLL_NS 20000			/* between two checks whether callbacks have ended */

/* An operation has ended. The callbacks of a queue may come in any order. */
static void end(struct adsm_cl_slot *slot, int status, struct adsm_span span)
{
	struct adsm_cl_queue *queue = slot->queue;
	struct adsm_driven_end *end = adsm_driven_end_of(&queue->base, slot->seq);
	uint64_t done;

	atomic_store(&end->status, status);
	adsm_driven_set_times(end, span);
	if (status) {
		uint64_t last = atomic_load(&queue->base.last_failed);

		atomic_store(&queue->base.failure, status);
		while (last < slot->seq &&
		       !atomic_compare_exchange_weak(&queue->base.last_failed, &last, slot->seq))
			;
	}
	atomic_store(&slot->ended, slot->seq);
	for (;;) {
		done = atomic_load(&queue->base.done);
		if (atomic_load(&queue->slots[(done + 1) % ADSM_DRIVEN_PENDING].ended) != done + 1)
			break;
		atomic_compare_exchange_strong(&queue->base.done, &done, done + 1);
	}
	adsm_driven_wake(&queue->base);
}

/* When a command ran, on the clock of the device. */
static struct adsm_span span_of(const struct adsm_cl_queue *queue, cl_event event)
{
	cl_ulong start, stop;

	if (!queue->profiles ||
	    adsm_cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start), &start, NULL) ||
	    adsm_cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(stop), &stop, NULL))
		return (struct adsm_span){ 0 };
	return (struct adsm_span){ start, stop > start ? stop - start : 0 };
}

static void CL_CALLBACK on_complete(cl_event event, cl_int status, void *arg)
{
	struct adsm_cl_slot *slot = arg;
	struct adsm_cl_queue *queue = slot->queue;
	cl_int timed = CL_COMPLETE;
	struct adsm_span span = { 0 };
	int ended;

	/* If the timed command failed, commands after it may have succeeded. */
	if (slot->timed && status >= 0 &&
	    !adsm_cl.clGetEventInfo(slot->timed, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(timed), &timed, NULL) &&
	    timed < 0)
		status = timed;
	if (status >= 0)
		span = span_of(queue, slot->timed ? slot->timed : event);
	adsm_cl.clReleaseEvent(event);
	if (slot->timed)
		adsm_cl.clReleaseEvent(slot->timed);
	ended = status < 0 ? adsm_cl_moved(queue->device, status, "a queued operation") : 0;
	end(slot, adsm_cl_once_end(slot->once, ended, true), span);
	atomic_fetch_add(&queue->n_callbacks, 1);	/* now the queue may be destroyed */
}

void adsm_cl_queue_init(struct adsm_cl_device *device, unsigned number)
{
	struct adsm_cl_queue *queue = &device->queues[number];

	adsm_driven_queue_init(&device->base, number, &queue->base);
	queue->device = device;
	queue->profiles = adsm_driven_is_lane(number);
	for (size_t i = 0; i < ADSM_DRIVEN_PENDING; i++)
		queue->slots[i].queue = queue;
}

int adsm_cl_queue_create(struct adsm_cl_queue *queue)
{
	struct adsm_cl_device *device = queue->device;
	const cl_command_queue_properties flags = queue->profiles ? CL_QUEUE_PROFILING_ENABLE : 0;
	const cl_queue_properties properties[] = { CL_QUEUE_PROPERTIES, flags, 0 };
	cl_int error;
	ADSM_SIGNALS_BLOCKED_FOR_THREADS;

	if (device->version >= 20 && adsm_cl.clCreateCommandQueueWithProperties)
		queue->cl = adsm_cl.clCreateCommandQueueWithProperties(device->context, device->id, properties, &error);
	else
		queue->cl = adsm_cl.clCreateCommandQueue(device->context, device->id, flags, &error);
	return adsm_cl_error(device, error, "creating a command queue");
}

void adsm_cl_queue_finish(struct adsm_cl_queue *queue)
{
	if (queue->cl && atomic_load(&queue->n_callbacks) < atomic_load(&queue->base.submitted))
		adsm_cl.clFinish(queue->cl);
}

bool adsm_cl_queue_destroy(struct adsm_cl_queue *queue)
{
	if (!queue->cl)
		return true;
	adsm_cl.clFinish(queue->cl);
	/* Callbacks use the queue until they return, which the driver does not report: poll. */
	while (atomic_load(&queue->n_callbacks) < atomic_load(&queue->base.submitted) &&
	       !adsm_driven_is_lost(&queue->device->base))
		adsm_os_sleep_until_ns(adsm_os_now_ns() + POLL_NS);
	adsm_cl.clReleaseCommandQueue(queue->cl);
	return atomic_load(&queue->n_callbacks) == atomic_load(&queue->base.submitted);
}

void adsm_cl_queue_abandon(struct adsm_cl_queue *queue, struct adsm_sigset *old)
{
	adsm_unlock(&queue->base.lock);
	adsm_os_signals_restore(old);
}

int adsm_cl_queue_begin(struct adsm_cl_queue *queue, struct adsm_sigset *old)
{
	int ret;

	adsm_os_signals_block(old);
	ret = adsm_driven_enter(&queue->base);
	if (ret)
		adsm_os_signals_restore(old);
	return ret;
}

static void submit(struct adsm_cl_queue *queue, cl_event event)
{
	uint64_t seq = atomic_load(&queue->base.submitted) + 1;
	struct adsm_cl_slot *slot = &queue->slots[seq % ADSM_DRIVEN_PENDING];
	cl_int error;

	slot->seq = seq;
	slot->timed = queue->timed;
	slot->once = queue->once;
	queue->timed = NULL;
	queue->once = NULL;
	atomic_store(&queue->base.submitted, seq);
	error = adsm_cl.clSetEventCallback(event, CL_COMPLETE, on_complete, slot);
	adsm_cl.clFlush(queue->cl);
	if (!error)
		return;
	/* The driver cannot call back: wait here for the end of the operation. */
	error = adsm_cl.clWaitForEvents(1, &event);
	on_complete(event, error ? error : CL_COMPLETE, slot);
}

int adsm_cl_queue_end(struct adsm_cl_queue *queue, struct adsm_sigset *old, cl_int error, cl_event event,
		      const char *what, uint64_t *ret_seq)
{
	int ret = adsm_cl_errno(queue->device, error, what);

	if (!ret) {
		submit(queue, event);
		*ret_seq = atomic_load(&queue->base.submitted);
	}
	adsm_cl_queue_abandon(queue, old);
	return ret;
}

cl_int adsm_cl_settle(struct adsm_cl_queue *queue, cl_int error, cl_event event)
{
	if (error)
		return error;
	error = adsm_cl.clFlush(queue->cl);
	if (!error)
		error = adsm_cl.clWaitForEvents(1, &event);
	adsm_cl.clReleaseEvent(event);
	return error;
}

int adsm_cl_event_wait(struct adsm_device *device, struct adsm_device_event event, int *ret_status)
{
	const struct adsm_driven_queue *queue = adsm_driven_find(device, event);
	uint64_t until = adsm_os_now_ns() + SPIN_NS;

	while (queue && !adsm_driven_is_over(queue, event.seq) && adsm_os_now_ns() < until)
		;
	return adsm_driven_event_wait(device, event, ret_status);
}
