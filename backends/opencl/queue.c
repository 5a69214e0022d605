/* SPDX-License-Identifier: MIT */
/* queue.c - command queues: operations counted, and told to be complete by the driver's callbacks. */
#include "queue.h"

#include <errno.h>

#define SPIN_NS 10000			/* awake for a kernel that ends at once, before sleeping */
#define POLL_NS 20000			/* between looks at the end of callbacks */

/* An operation has ended; those of a queue may be told out of order. */
static void end(struct adsm_cl_slot *slot, int status, uint64_t elapsed_ns)
{
	struct adsm_cl_queue *queue = slot->queue;
	uint64_t done;

	slot->status = status;
	slot->elapsed_ns = elapsed_ns;
	if (status) {
		uint64_t last = atomic_load(&queue->last_failed);

		atomic_store(&queue->failure, status);
		while (last < slot->seq &&
		       !atomic_compare_exchange_weak(&queue->last_failed, &last, slot->seq))
			;
	}
	atomic_store(&slot->ended, slot->seq);
	for (;;) {
		done = atomic_load(&queue->done);
		if (atomic_load(&queue->slots[(done + 1) % ADSM_CL_PENDING].ended) != done + 1)
			break;
		atomic_compare_exchange_strong(&queue->done, &done, done + 1);
	}
	adsm_cl_queue_wake(queue);
}

static uint64_t elapsed(const struct adsm_cl_queue *queue, cl_event event)
{
	cl_ulong start, stop;

	if (!queue->profiles ||
	    adsm_cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start), &start, NULL) ||
	    adsm_cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(stop), &stop, NULL))
		return 0;
	return stop > start ? stop - start : 0;
}

static void CL_CALLBACK told(cl_event event, cl_int status, void *arg)
{
	struct adsm_cl_slot *slot = arg;
	struct adsm_cl_queue *queue = slot->queue;
	cl_int timed = CL_COMPLETE;
	uint64_t ns;

	/* Commands behind the timed one need not have failed with it. */
	if (slot->timed && status >= 0 &&
	    !adsm_cl.clGetEventInfo(slot->timed, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(timed), &timed, NULL) &&
	    timed < 0)
		status = timed;
	ns = status < 0 ? 0 : elapsed(queue, slot->timed ? slot->timed : event);
	adsm_cl.clReleaseEvent(event);
	if (slot->timed)
		adsm_cl.clReleaseEvent(slot->timed);
	end(slot, status < 0 ? adsm_cl_moved(queue->device, status, "a queued operation") : 0, ns);
	atomic_fetch_add(&queue->told, 1);	/* the queue may be gone now */
}

int adsm_cl_queue_create(struct adsm_cl_device *device, struct adsm_cl_queue *queue, bool profiles)
{
	const cl_command_queue_properties flags = profiles ? CL_QUEUE_PROFILING_ENABLE : 0;
	const cl_queue_properties properties[] = { CL_QUEUE_PROPERTIES, flags, 0 };
	cl_int error;

	queue->device = device;
	adsm_lock_init(&queue->lock, ADSM_RANK_QUEUE);
	queue->profiles = profiles;
	for (size_t i = 0; i < ADSM_CL_PENDING; i++)
		queue->slots[i].queue = queue;
	if (device->version >= 20 && adsm_cl.clCreateCommandQueueWithProperties)
		queue->cl = adsm_cl.clCreateCommandQueueWithProperties(device->context, device->id, properties, &error);
	else
		queue->cl = adsm_cl.clCreateCommandQueue(device->context, device->id, flags, &error);
	return adsm_cl_error(device, error, "a command queue");
}

bool adsm_cl_queue_destroy(struct adsm_cl_queue *queue)
{
	if (!queue->cl)
		return true;
	adsm_cl.clFinish(queue->cl);
	/* Callbacks use the queue to their end, of which nobody tells. */
	while (atomic_load(&queue->told) < atomic_load(&queue->submitted) && !atomic_load(&queue->device->lost))
		adsm_os_sleep_until_ns(adsm_os_now_ns() + POLL_NS);
	adsm_cl.clReleaseCommandQueue(queue->cl);
	return atomic_load(&queue->told) == atomic_load(&queue->submitted);
}

/* Sleep until operation @seq is done, the device is lost, or (-EINTR) a signal handler ran. */
static int wait_done(struct adsm_cl_queue *queue, uint64_t seq, uint64_t spin_ns)
{
	uint64_t until = spin_ns ? adsm_os_now_ns() + spin_ns : 0;

	for (;;) {
		uint32_t tick = atomic_load(&queue->tick);
		int ret = 0;

		if (atomic_load(&queue->done) >= seq || atomic_load(&queue->device->lost))
			return 0;
		if (until && adsm_os_now_ns() < until)
			continue;
		atomic_fetch_add(&queue->n_waiting, 1);
		if (atomic_load(&queue->done) < seq && !atomic_load(&queue->device->lost))
			ret = adsm_os_wait(&queue->tick, tick, 0, false);
		atomic_fetch_sub(&queue->n_waiting, 1);
		if (ret == -EINTR)
			return ret;
	}
}

void adsm_cl_queue_abandon(struct adsm_cl_queue *queue, struct adsm_sigset *old)
{
	adsm_unlock(&queue->lock);
	adsm_os_signals_restore(old);
}

int adsm_cl_queue_begin(struct adsm_cl_queue *queue, struct adsm_sigset *old)
{
	adsm_os_signals_block(old);
	adsm_lock(&queue->lock);
	while (atomic_load(&queue->submitted) - atomic_load(&queue->done) >= ADSM_CL_PENDING &&
	       !atomic_load(&queue->device->lost)) {
		uint64_t oldest = atomic_load(&queue->submitted) - ADSM_CL_PENDING + 1;

		adsm_unlock(&queue->lock);
		wait_done(queue, oldest, 0);
		adsm_lock(&queue->lock);
	}
	if (!atomic_load(&queue->device->lost))
		return 0;
	adsm_cl_queue_abandon(queue, old);
	return -ENODEV;
}

static void submit(struct adsm_cl_queue *queue, cl_event event)
{
	uint64_t seq = atomic_load(&queue->submitted) + 1;
	struct adsm_cl_slot *slot = &queue->slots[seq % ADSM_CL_PENDING];
	cl_int error;

	slot->seq = seq;
	slot->timed = queue->timed;
	queue->timed = NULL;
	atomic_store(&queue->submitted, seq);
	error = adsm_cl.clSetEventCallback(event, CL_COMPLETE, told, slot);
	adsm_cl.clFlush(queue->cl);
	if (!error)
		return;
	/* A driver that cannot tell: then the operation is over before anybody asks. */
	error = adsm_cl.clWaitForEvents(1, &event);
	told(event, error ? error : CL_COMPLETE, slot);
}

int adsm_cl_queue_end(struct adsm_cl_queue *queue, struct adsm_sigset *old, cl_int error, cl_event event,
		      const char *what, uint64_t *ret_seq)
{
	int ret = adsm_cl_errno(queue->device, error, what);

	if (!ret) {
		submit(queue, event);
		*ret_seq = atomic_load(&queue->submitted);
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

/* ---- events */

static struct adsm_cl_queue *find(struct adsm_device *base, struct adsm_device_event event)
{
	struct adsm_cl_device *device = (struct adsm_cl_device *)base;

	if (event.queue >= ADSM_N_QUEUES || !event.seq ||
	    event.seq > atomic_load(&device->queues[event.queue].submitted))
		return NULL;
	return &device->queues[event.queue];
}

int adsm_cl_event_query(struct adsm_device *base, struct adsm_device_event event, int *ret_status)
{
	struct adsm_cl_queue *queue = find(base, event);
	bool lost;

	if (!queue)
		return -EINVAL;
	/* Read before the number: operations that were done when the device was lost stay done. */
	lost = atomic_load(&queue->device->lost);
	if (atomic_load(&queue->done) >= event.seq) {
		const struct adsm_cl_slot *slot = &queue->slots[event.seq % ADSM_CL_PENDING];
		int status = slot->status;

		/* Of operations long gone only this is known; rather a failure too many than one too few. */
		*ret_status = event.seq <= atomic_load(&queue->last_failed) ? atomic_load(&queue->failure) : 0;
		if (atomic_load(&queue->submitted) < event.seq + ADSM_CL_PENDING)
			*ret_status = status;
		return 1;
	}
	*ret_status = -ENODEV;
	return lost;
}

int adsm_cl_event_wait(struct adsm_device *base, struct adsm_device_event event, int *ret_status)
{
	struct adsm_cl_queue *queue = find(base, event);
	int ret = queue ? wait_done(queue, event.seq, SPIN_NS) : -EINVAL;

	if (ret)
		return ret;
	adsm_cl_event_query(base, event, ret_status);
	return 0;
}

int adsm_cl_event_elapsed(struct adsm_device *base, struct adsm_device_event event, uint64_t *ret_ns)
{
	struct adsm_cl_queue *queue = find(base, event);
	const struct adsm_cl_slot *slot = queue ? &queue->slots[event.seq % ADSM_CL_PENDING] : NULL;
	uint64_t ns;

	if (!queue || !queue->profiles || atomic_load(&slot->ended) != event.seq)
		return -EINVAL;
	ns = slot->elapsed_ns;
	if (atomic_load(&queue->submitted) >= event.seq + ADSM_CL_PENDING)
		return -EINVAL;
	*ret_ns = ns;
	return 0;
}
