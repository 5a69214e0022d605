/* SPDX-License-Identifier: MIT */
/* queue.c - streams whose operations have numbers. A thread of each queue detects that operations are complete. */
#include "queue.h"

#include <errno.h>

#include "base/log.h"

#define SPIN_NS 20000			/* how long a thread polls for the end of short operations before it sleeps */
#define SPIN_NOW_NS 50000		/* the same for copies: a sleep in the driver takes as long as 2 MiB */

static bool is_lost(const struct adsm_cuda_queue *queue)
{
	return adsm_driven_is_lost(&queue->device->base);
}

static struct adsm_cuda_slot *slot_of(struct adsm_cuda_queue *queue, uint64_t seq)
{
	return &queue->slots[seq % ADSM_DRIVEN_PENDING];
}

/* The event that is recorded after the operation. */
static CUevent end_of(const struct adsm_cuda_slot *slot)
{
	return slot->timed ? slot->timed_end : slot->end;
}

/* ---- the end of operations: detected by the queue's thread, or by a thread that waits */

/* Negative if the first event came later, as it may in another lane. */
static int64_t between(CUevent first, CUevent last)
{
	float milliseconds = 0;

	if (adsm_cu.cuEventElapsedTime(&milliseconds, first, last))
		return 0;
	return (int64_t)((double)milliseconds * 1e6);
}

/*
 * When a launch ran. The driver only reports the time between two events, so the clock begins with the end of the first
 * launch: now. Each launch begins as long after the previous one as the driver says. end_lock held.
 */
static struct adsm_span span_of(struct adsm_cuda_queue *queue, uint64_t seq)
{
	struct adsm_cuda_clock *clock = &queue->device->clock;
	const struct adsm_cuda_slot *slot = slot_of(queue, seq);
	struct adsm_span span = { 0 };
	int64_t ns;

	if (!slot->timed || !slot->recorded)
		return span;
	ns = between(slot->begin, slot->timed_end);
	span.ns = ns > 0 ? (uint64_t)ns : 0;
	/* The slot of the previous launch has a new operation after a while. */
	if (clock->queue && atomic_load(&clock->queue->base.submitted) - clock->seq < ADSM_DRIVEN_PENDING / 2)
		span.start_ns = clock->end_ns +
			(uint64_t)between(slot_of(clock->queue, clock->seq)->timed_end, slot->begin);
	else
		span.start_ns = adsm_os_now_ns() - span.ns;
	if (span.start_ns < queue->timed_end_ns)
		span.start_ns = queue->timed_end_ns;
	queue->timed_end_ns = span.start_ns + span.ns;
	*clock = (struct adsm_cuda_clock){ queue, seq, queue->timed_end_ns };
	return span;
}

/* An errno for @error, with the name of operation @seq. The driver does not report which of several failed. */
static int failure_of(struct adsm_cuda_queue *queue, uint64_t seq, CUresult error)
{
	const char *name = slot_of(queue, seq)->name;
	char what[128];

	if (!error)
		return 0;
	adsm_format(what, sizeof(what), *name ? "kernel '%s'%s" : "%sa queued operation%s", name,
		    atomic_load(&queue->base.submitted) > seq ? " or a later operation" : "");
	return adsm_cuda_errno(queue->device, error, what);
}

/* Mark operations up to @seq as done, the last one with @error. Signals are blocked, and the context is current. */
static void publish(struct adsm_cuda_queue *queue, uint64_t seq, CUresult error)
{
	int status = failure_of(queue, seq, error);
	uint64_t done;

	/* The loss ends all outstanding operations. */
	if (is_lost(queue))
		return;
	adsm_lock(&queue->device->end_lock);
	for (done = atomic_load(&queue->base.done); done < seq; done++) {
		struct adsm_driven_end *end = adsm_driven_end_of(&queue->base, done + 1);

		atomic_store(&end->status, done + 1 == seq ? status : 0);
		adsm_driven_set_times(end, span_of(queue, done + 1));
		if (done + 1 == seq && status) {
			atomic_store(&queue->base.failure, status);
			atomic_store(&queue->base.last_failed, seq);
		}
		atomic_store(&queue->base.done, done + 1);
	}
	adsm_unlock(&queue->device->end_lock);
	adsm_driven_wake(&queue->base);
}

static void run_queue(void *arg)
{
	struct adsm_cuda_queue *queue = arg;
	struct adsm_cuda_scope scope;

	/* If this fails, the driver's functions below return the error. */
	adsm_cuda_errno(queue->device, adsm_cuda_enter(queue->device, &scope), "making a context current");
	for (;;) {
		uint32_t work = atomic_load(&queue->work);
		uint64_t seq = atomic_load(&queue->base.done) + 1;

		/* Read stop after the futex word, which changes after stop: otherwise the last wake could be missed. */
		if (atomic_load(&queue->stop))
			break;
		if (is_lost(queue) || seq > atomic_load(&queue->base.submitted))
			adsm_os_wait(&queue->work, work, 0, false);
		else
			publish(queue, seq, adsm_cu.cuEventSynchronize(end_of(slot_of(queue, seq))));
	}
	adsm_cuda_leave(&scope);
}

/* Poll the driver for a while: it knows that @seq is done before the queue's thread wakes. */
static void spin(struct adsm_cuda_queue *queue, uint64_t seq)
{
	uint64_t until = adsm_os_now_ns() + SPIN_NS;
	struct adsm_cuda_scope scope;

	if (adsm_driven_is_over(&queue->base, seq) || adsm_cuda_enter(queue->device, &scope))
		return;
	do
		/* The queue's thread handles all other results. */
		if (!adsm_cu.cuEventQuery(end_of(slot_of(queue, seq))))
			publish(queue, seq, CUDA_SUCCESS);
	while (!adsm_driven_is_over(&queue->base, seq) && adsm_os_now_ns() < until);
	adsm_cuda_leave(&scope);
}

/* ---- creating and destroying queues */

void adsm_cuda_queue_init(struct adsm_cuda_device *device, unsigned number)
{
	struct adsm_cuda_queue *queue = &device->queues[number];

	adsm_driven_queue_init(&device->base, number, &queue->base);
	queue->device = device;
}

int adsm_cuda_queue_create(struct adsm_cuda_queue *queue)
{
	return adsm_cuda_error(queue->device, adsm_cu.cuStreamCreate(&queue->stream, CU_STREAM_NON_BLOCKING),
			       "cuStreamCreate");
}

static void destroy_event(CUevent event)
{
	if (event)
		adsm_cu.cuEventDestroy_v2(event);
}

void adsm_cuda_queue_stop(struct adsm_cuda_queue *queue)
{
	if (!queue->has_thread)
		return;
	atomic_store(&queue->stop, true);
	adsm_os_poke(&queue->work);
	adsm_os_thread_join(&queue->thread);
	queue->has_thread = false;
}

void adsm_cuda_queue_drop(struct adsm_cuda_queue *queue)
{
	for (size_t i = 0; i < ADSM_DRIVEN_PENDING; i++) {
		destroy_event(queue->slots[i].begin);
		destroy_event(queue->slots[i].timed_end);
		destroy_event(queue->slots[i].end);
		destroy_event(queue->slots[i].joined);
	}
	for (size_t i = 0; i < ADSM_CUDA_NOW; i++)
		destroy_event(queue->now[i]);
	adsm_cu.cuStreamDestroy_v2(queue->stream);
	queue->stream = NULL;
}

void adsm_cuda_queue_destroy(struct adsm_cuda_queue *queue)
{
	if (!queue->stream)
		return;
	if (!is_lost(queue))
		adsm_cuda_errno(queue->device, adsm_cu.cuStreamSynchronize(queue->stream), "waiting for a stream");
	adsm_cuda_queue_stop(queue);
	/* After a loss the context may no longer exist, and neither may its events and streams. */
	if (!is_lost(queue))
		adsm_cuda_queue_drop(queue);
}

/* ---- numbered operations */

static CUresult need_event(CUevent *event, unsigned flags)
{
	return *event ? CUDA_SUCCESS : adsm_cu.cuEventCreate(event, CU_EVENT_BLOCKING_SYNC | flags);
}

/* Prepare the events of the next operation. The queue's lock is held. */
static CUresult prepare(struct adsm_cuda_queue *queue, bool timed)
{
	struct adsm_cuda_slot *slot = slot_of(queue, atomic_load(&queue->base.submitted) + 1);
	CUresult error;

	slot->timed = timed;
	slot->recorded = true;
	slot->name[0] = '\0';
	if (!timed)
		return need_event(&slot->end, CU_EVENT_DISABLE_TIMING);
	error = need_event(&slot->timed_end, CU_EVENT_DEFAULT);
	if (!error)
		error = need_event(&slot->begin, CU_EVENT_DEFAULT);
	return error ? error : adsm_cu.cuEventRecord(slot->begin, queue->stream);
}

static int need_thread(struct adsm_cuda_queue *queue)
{
	int ret = queue->has_thread ? 0 : adsm_os_thread_start(&queue->thread, "adsm-cuda", run_queue, queue);

	queue->has_thread = !ret;
	return ret;
}

static void finish(struct adsm_cuda_queue *queue, struct adsm_cuda_scope *scope)
{
	adsm_unlock(&queue->base.lock);
	adsm_cuda_leave(scope);
}

int adsm_cuda_queue_begin(struct adsm_cuda_queue *queue, bool timed, struct adsm_cuda_scope *scope)
{
	CUresult error;
	int ret;

	if (is_lost(queue))
		return -ENODEV;
	error = adsm_cuda_enter(queue->device, scope);
	if (error)
		return adsm_cuda_errno(queue->device, error, "making a context current");
	ret = adsm_driven_enter(&queue->base);
	if (ret) {
		adsm_cuda_leave(scope);
		return ret;
	}
	ret = queue->stream ? 0 : adsm_cuda_queue_create(queue);
	if (!ret)
		ret = need_thread(queue);
	if (!ret)
		ret = adsm_cuda_errno(queue->device, prepare(queue, timed), "preparing an event");
	if (ret)
		finish(queue, scope);
	return ret;
}

void adsm_cuda_queue_name(struct adsm_cuda_queue *queue, const char *kernel)
{
	struct adsm_cuda_slot *slot = slot_of(queue, atomic_load(&queue->base.submitted) + 1);

	adsm_format(slot->name, sizeof(slot->name), "%s", kernel);
}

int adsm_cuda_queue_end(struct adsm_cuda_queue *queue, struct adsm_cuda_scope *scope, CUresult error, const char *what,
			uint64_t *ret_seq)
{
	uint64_t seq = atomic_load(&queue->base.submitted) + 1;
	struct adsm_cuda_slot *slot = slot_of(queue, seq);
	char of_kernel[96];
	int ret;

	/* Commands that run get a number. If their event cannot be recorded, it is still that of an older operation:
	 * wait here instead. */
	if (!error && adsm_cu.cuEventRecord(end_of(slot), queue->stream)) {
		error = adsm_cu.cuStreamSynchronize(queue->stream);
		slot->recorded = false;
	}
	if (error && *slot->name) {
		adsm_format(of_kernel, sizeof(of_kernel), "%s of kernel '%s'", what, slot->name);
		what = of_kernel;
	}
	ret = adsm_cuda_errno(queue->device, error, what);
	if (!ret) {
		if (slot->timed)
			atomic_store(&queue->last_launch, seq);
		atomic_store(&queue->base.submitted, seq);
		adsm_os_poke(&queue->work);
		*ret_seq = seq;
	}
	finish(queue, scope);
	return ret;
}

/* ---- operations with an immediate wait, of many threads at the same time */

static CUevent *take_event(struct adsm_cuda_queue *queue)
{
	uint32_t used = atomic_load(&queue->now_used);

	do
		if (used == UINT32_MAX)
			return NULL;
	while (!atomic_compare_exchange_weak(&queue->now_used, &used, used | (used + 1)));
	return &queue->now[__builtin_ctz(~used)];
}

static void give_event(struct adsm_cuda_queue *queue, const CUevent *event)
{
	atomic_fetch_and(&queue->now_used, ~((uint32_t)1 << (event - queue->now)));
}

static CUresult wait_event(CUevent event)
{
	uint64_t until = adsm_os_now_ns() + SPIN_NOW_NS;
	CUresult error;

	do
		error = adsm_cu.cuEventQuery(event);
	while (error == CUDA_ERROR_NOT_READY && adsm_os_now_ns() < until);
	return error == CUDA_ERROR_NOT_READY ? adsm_cu.cuEventSynchronize(event) : error;
}

int adsm_cuda_queue_now(struct adsm_cuda_queue *queue, CUresult (*enqueue)(const void *arg, CUstream stream),
			const void *arg, const char *what)
{
	struct adsm_cuda_scope scope;
	CUevent *kept, own = NULL;
	CUresult error;

	if (is_lost(queue))
		return -ENODEV;
	error = adsm_cuda_enter(queue->device, &scope);
	if (error)
		return adsm_cuda_errno(queue->device, error, "making a context current");
	kept = take_event(queue);
	error = need_event(kept ? kept : &own, CU_EVENT_DISABLE_TIMING);
	if (!error)
		error = enqueue(arg, queue->stream);
	if (!error) {
		CUevent event = kept ? *kept : own;

		error = adsm_cu.cuEventRecord(event, queue->stream);
		/* The commands may use the caller's memory: wait for them in any case. */
		error = error ? adsm_cu.cuStreamSynchronize(queue->stream) : wait_event(event);
	}
	if (kept)
		give_event(queue, kept);
	destroy_event(own);
	adsm_cuda_leave(&scope);
	return adsm_cuda_errno(queue->device, error, what);
}

int adsm_cuda_event_wait(struct adsm_device *device, struct adsm_device_event event, int *ret_status)
{
	struct adsm_driven_queue *queue = adsm_driven_find(device, event);

	if (queue)
		spin((struct adsm_cuda_queue *)queue, event.seq);
	return adsm_driven_event_wait(device, event, ret_status);
}

/* ---- streams of the program */

/* Was the context of a program's stream destroyed, but not the queue's context? Then nothing runs on the stream. */
static bool has_ended(const struct adsm_cuda_queue *queue, CUresult error)
{
	CUresult own;

	if (error != CUDA_ERROR_CONTEXT_IS_DESTROYED && error != CUDA_ERROR_INVALID_CONTEXT)
		return false;
	own = adsm_cu.cuStreamQuery(queue->stream);
	return own == CUDA_SUCCESS || own == CUDA_ERROR_NOT_READY;
}

/* Order a stream of the program after the last launch of a lane. */
static int follow(struct adsm_cuda_queue *queue, void *stream)
{
	struct adsm_cuda_device *device = queue->device;
	CUresult error = CUDA_SUCCESS;
	struct adsm_cuda_scope scope;
	uint64_t last;

	if (atomic_load(&queue->last_launch) <= atomic_load(&queue->base.done))
		return 0;
	error = adsm_cuda_enter(device, &scope);
	if (error)
		return adsm_cuda_error(device, error, "making a context current");
	/* While the lock is held, the slot belongs to that launch. */
	adsm_lock(&queue->base.lock);
	last = atomic_load(&queue->last_launch);
	if (last > atomic_load(&queue->base.done))
		error = adsm_cu.cuStreamWaitEvent(stream, end_of(slot_of(queue, last)), 0);
	if (has_ended(queue, error))
		error = CUDA_SUCCESS;	/* the program's own command gets this error, too */
	finish(queue, &scope);
	return adsm_cuda_error(device, error, "cuStreamWaitEvent on the program's stream");
}

int adsm_cuda_queue_follow(struct adsm_device *base, void *stream)
{
	struct adsm_cuda_device *device = (struct adsm_cuda_device *)base;
	int ret = 0;

	if (adsm_driven_is_lost(&device->base))
		return adsm_driven_status(base);
	for (unsigned i = 0; i < ADSM_DRIVEN_QUEUES && !ret; i++)
		if (adsm_driven_is_lane(i))
			ret = follow(&device->queues[i], stream);
	return ret;
}

/* Order later commands of the queue after all commands that the stream has now. */
static CUresult come_after(struct adsm_cuda_queue *queue, CUstream stream, CUevent event)
{
	int capturing = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult error = CUDA_SUCCESS;

	/* This would invalidate the capture of a stream. During captures the default stream must not be used. */
	if (adsm_cu.cuStreamIsCapturing)
		error = adsm_cu.cuStreamIsCapturing(stream, &capturing);
	if (capturing != CU_STREAM_CAPTURE_STATUS_NONE)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (error == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
		return error;
	error = adsm_cu.cuEventRecord(event, stream);
	if (!error)
		error = adsm_cu.cuStreamWaitEvent(queue->stream, event, 0);
	/* No event is usable: none could be created, or it belongs to another context. */
	if (error)
		error = adsm_cu.cuStreamSynchronize(stream);
	return has_ended(queue, error) ? CUDA_SUCCESS : error;
}

int adsm_cuda_queue_join(struct adsm_device *base, void *const *streams, size_t n, struct adsm_device_event *ret_event)
{
	struct adsm_cuda_device *device = (struct adsm_cuda_device *)base;
	struct adsm_cuda_queue *queue = &device->queues[ADSM_QUEUE_COMPUTE];
	struct adsm_device_event event = { .queue = ADSM_QUEUE_COMPUTE };
	struct adsm_cuda_scope scope;
	struct adsm_cuda_slot *slot;
	CUresult error;
	int ret;

	ret = adsm_cuda_queue_begin(queue, false, &scope);
	if (ret)
		return ret == -ENODEV ? adsm_driven_status(base) : ret;
	slot = slot_of(queue, atomic_load(&queue->base.submitted) + 1);
	error = need_event(&slot->joined, CU_EVENT_DISABLE_TIMING);
	/* A wait refers to the latest record before it: one event is enough for all streams. */
	for (size_t i = 0; i < n && !error; i++)
		error = come_after(queue, streams[i], slot->joined);
	ret = adsm_cuda_queue_end(queue, &scope, error, "cuEventRecord on the program's stream", &event.seq);
	if (!ret)
		*ret_event = event;
	return ret ? adsm_fail(ret, "%s cannot wait for the program's streams: %s", base->name,
			       adsm_cu_error_name(error)) : 0;
}
