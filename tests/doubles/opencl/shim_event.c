/* SPDX-License-Identifier: MIT */
/* shim_event.c - commands, the events of their ends, and the callbacks of these: immediate or late. */
#include "shim_own.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define LATEST_NS 2000000u		/* a late callback */

/* ---- events */

struct event {
	struct event *next;
	cl_event event;			/* one reference is ours */
	cl_command_queue queue;
	cl_int forced;			/* 0: as the driver says */
	bool held, told;		/* the program has it; and knows how it ended */
	unsigned n_refs;
};

static struct event *events;
static uint64_t n_commands;

/* With the lock. */
static struct event *event_find(cl_event handle)
{
	struct event *event;

	for (event = events; event && event->event != handle; event = event->next)
		;
	return event;
}

static void event_put(struct event *event)
{
	struct event **at = &events;

	pthread_mutex_lock(&lock);
	if (--event->n_refs) {
		pthread_mutex_unlock(&lock);
		return;
	}
	while (*at != event)
		at = &(*at)->next;
	*at = event->next;
	pthread_mutex_unlock(&lock);
	real.clReleaseEvent(event->event);
	free(event);
}

/* With the lock: the status that the program gets if the driver reports @status. */
static cl_int event_status(struct event *event, cl_int status)
{
	if (status > CL_COMPLETE)
		return status;
	event->told = true;
	return event->forced ? event->forced : status;
}

/* With the lock: a queue that runs commands in order has run all of them. */
static void queue_told(cl_command_queue queue)
{
	for (struct event *event = events; event; event = event->next)
		if (event->queue == queue)
			event->told = true;
}

/* With the lock. */
static void lose_device(void)
{
	lost = true;
	for (struct event *event = events; event; event = event->next)
		if (!event->told && !event->forced)
			event->forced = CL_DEVICE_NOT_AVAILABLE;
}

cl_int command_begin(enum function f, cl_uint n_waits, const cl_event *waits, cl_int *ret_failure)
{
	cl_int error = enter(f);

	if (!error && plan.no_svm && begins(names[f], "clEnqueueSVM"))
		error = CL_INVALID_OPERATION;
	pthread_mutex_lock(&lock);
	*ret_failure = error ? 0 : planned(true, f);
	for (cl_uint i = 0; i < n_waits; i++) {
		struct event *event = event_find(waits[i]);

		if (event && event->forced && !*ret_failure)
			*ret_failure = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

cl_int command_end(cl_command_queue queue, bool blocking, cl_int failure, cl_int error, cl_event *ret_event)
{
	if (error)
		return error;
	if (blocking && failure) {
		if (ret_event)
			real.clReleaseEvent(*ret_event);
		return failure;
	}
	if (ret_event)
		real_retain_event(*ret_event);
	pthread_mutex_lock(&lock);
	if (blocking)
		queue_told(queue);
	if (ret_event) {
		struct event *event = allocated(sizeof(*event));

		*event = (struct event){ events, *ret_event, queue, failure, true, blocking, 1 };
		if (lost && !blocking && !failure)
			event->forced = CL_DEVICE_NOT_AVAILABLE;
		events = event;
		counts[EVENTS].created++;
	}
	if (++n_commands == plan.lost)
		lose_device();
	pthread_mutex_unlock(&lock);
	return CL_SUCCESS;
}

ENQUEUE(clEnqueueReadBuffer, block,
	(cl_command_queue queue, cl_mem src, cl_bool block, size_t offset, size_t size, void *dst, WAITS),
	(queue, src, block, offset, size, dst, n_waits, waits, event))
ENQUEUE(clEnqueueWriteBuffer, block,
	(cl_command_queue queue, cl_mem dst, cl_bool block, size_t offset, size_t size, const void *src, WAITS),
	(queue, dst, block, offset, size, src, n_waits, waits, event))
ENQUEUE(clEnqueueCopyBuffer, false,
	(cl_command_queue queue, cl_mem src, cl_mem dst, size_t src_offset, size_t dst_offset, size_t size, WAITS),
	(queue, src, dst, src_offset, dst_offset, size, n_waits, waits, event))
ENQUEUE(clEnqueueFillBuffer, false,
	(cl_command_queue queue, cl_mem dst, const void *pattern, size_t pattern_size, size_t offset, size_t size,
	 WAITS),
	(queue, dst, pattern, pattern_size, offset, size, n_waits, waits, event))
ENQUEUE(clEnqueueUnmapMemObject, false,
	(cl_command_queue queue, cl_mem mem, void *mapped, WAITS), (queue, mem, mapped, n_waits, waits, event))
ENQUEUE(clEnqueueMarkerWithWaitList, false, (cl_command_queue queue, WAITS), (queue, n_waits, waits, event))
ENQUEUE(clEnqueueSVMMemcpy, block,
	(cl_command_queue queue, cl_bool block, void *dst, const void *src, size_t size, WAITS),
	(queue, block, dst, src, size, n_waits, waits, event))
ENQUEUE(clEnqueueSVMMemFill, false,
	(cl_command_queue queue, void *dst, const void *pattern, size_t pattern_size, size_t size, WAITS),
	(queue, dst, pattern, pattern_size, size, n_waits, waits, event))

void *CL_API_CALL clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool block, cl_map_flags flags,
				     size_t offset, size_t size, WAITS, cl_int *ret_error)
{
	cl_int failure, error = command_begin(F_clEnqueueMapBuffer, n_waits, waits, &failure);
	void *mapped;

	if (error)
		return none(error, ret_error);
	mapped = real.clEnqueueMapBuffer(queue, mem, block, flags, offset, size, n_waits, waits, event, &error);
	if (!error && block && failure)
		real.clEnqueueUnmapMemObject(queue, mem, mapped, 0, NULL, NULL);
	error = command_end(queue, block, failure, error, event);
	if (error)
		return none(error, ret_error);
	if (ret_error)
		*ret_error = CL_SUCCESS;
	return mapped;
}

cl_int CL_API_CALL clFinish(cl_command_queue queue)
{
	cl_int error = enter(F_clFinish);

	if (!error)
		error = real.clFinish(queue);
	if (error)
		return error;
	pthread_mutex_lock(&lock);
	queue_told(queue);
	pthread_mutex_unlock(&lock);
	return CL_SUCCESS;
}

cl_int CL_API_CALL clReleaseEvent(cl_event handle)
{
	cl_int error = enter(F_clReleaseEvent);
	struct event *event;
	bool held;

	if (error)
		return error;
	pthread_mutex_lock(&lock);
	event = event_find(handle);
	held = event && event->held;
	if (held) {
		event->held = false;
		counts[EVENTS].released++;
	}
	pthread_mutex_unlock(&lock);
	if (!held)
		die("clReleaseEvent of an event that was released, or never was one");
	error = real.clReleaseEvent(handle);
	event_put(event);
	return error;
}

cl_int CL_API_CALL clWaitForEvents(cl_uint n, const cl_event *handles)
{
	cl_int error = enter(F_clWaitForEvents);

	if (!error)
		error = real.clWaitForEvents(n, handles);
	if (error && error != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
		return error;
	pthread_mutex_lock(&lock);
	for (cl_uint i = 0; i < n; i++) {
		struct event *event = event_find(handles[i]);

		if (event && event_status(event, CL_COMPLETE))
			error = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

cl_int CL_API_CALL clGetEventInfo(cl_event handle, cl_event_info info, size_t size, void *ret, size_t *ret_size)
{
	cl_int error = enter(F_clGetEventInfo), status;
	struct event *event;

	if (error)
		return error;
	if (info != CL_EVENT_COMMAND_EXECUTION_STATUS)
		return real.clGetEventInfo(handle, info, size, ret, ret_size);
	error = real.clGetEventInfo(handle, info, sizeof(status), &status, NULL);
	if (error)
		return error;
	pthread_mutex_lock(&lock);
	event = event_find(handle);
	if (event)
		status = event_status(event, status);
	pthread_mutex_unlock(&lock);
	return answer(&status, sizeof(status), size, ret, ret_size);
}

cl_int CL_API_CALL clGetEventProfilingInfo(cl_event handle, cl_profiling_info info, size_t size, void *ret,
					   size_t *ret_size)
{
	cl_int error = enter(F_clGetEventProfilingInfo);
	struct event *event;

	pthread_mutex_lock(&lock);
	event = event_find(handle);
	if (!error && event && event->forced)
		error = CL_PROFILING_INFO_NOT_AVAILABLE;
	pthread_mutex_unlock(&lock);
	return error ? error : real.clGetEventProfilingInfo(handle, info, size, ret, ret_size);
}

/* ---- callbacks, immediate or late */

struct callback {
	struct callback *next;		/* late ones, the earliest first */
	uint64_t due_ns;
	struct event *event;
	void (CL_CALLBACK *function)(cl_event, cl_int, void *);
	void *user;
	cl_int status;			/* the driver's */
};

static struct callback *late;
static pthread_cond_t late_more;
static pthread_once_t late_once = PTHREAD_ONCE_INIT;

static void deliver(struct callback *callback)
{
	cl_int status;

	pthread_mutex_lock(&lock);
	status = event_status(callback->event, callback->status);
	pthread_mutex_unlock(&lock);
	in_callback = true;
	callback->function(callback->event->event, status, callback->user);
	in_callback = false;
	event_put(callback->event);
	free(callback);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *late_main(void *unused)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		struct callback *first = late;
		struct timespec due;

		if (!first) {
			pthread_cond_wait(&late_more, &lock);
		} else if (first->due_ns > now_ns()) {
			due.tv_sec = (time_t)(first->due_ns / 1000000000u);
			due.tv_nsec = (long)(first->due_ns % 1000000000u);
			pthread_cond_timedwait(&late_more, &lock, &due);
		} else {
			late = first->next;
			pthread_mutex_unlock(&lock);
			deliver(first);
			pthread_mutex_lock(&lock);
		}
	}
	return NULL;
}

static void late_start(void)
{
	pthread_condattr_t monotonic;
	sigset_t all, old;
	pthread_t thread;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&late_more, &monotonic);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, NULL, late_main, NULL))
		die("no thread for late callbacks");
	pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* With the lock. */
static uint64_t random_delay_ns(void)
{
	plan.seed = plan.seed * 6364136223846793005u + 1442695040888963407u;
	return (plan.seed >> 33) % LATEST_NS;
}

static void deliver_late(struct callback *callback)
{
	struct callback **at;

	pthread_mutex_lock(&lock);
	callback->due_ns = now_ns() + random_delay_ns();
	for (struct callback *other = late; other; other = other->next)
		if (other->event->queue == callback->event->queue && other->due_ns > callback->due_ns)
			callback->due_ns = other->due_ns;
	for (at = &late; *at && (*at)->due_ns <= callback->due_ns; at = &(*at)->next)
		;
	callback->next = *at;
	*at = callback;
	pthread_cond_signal(&late_more);
	pthread_mutex_unlock(&lock);
}

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *user)
{
	struct callback *callback = user;

	callback->status = status;
	if (plan.late)
		deliver_late(callback);
	else
		deliver(callback);
}

cl_int CL_API_CALL clSetEventCallback(cl_event handle, cl_int type,
				      void (CL_CALLBACK *function)(cl_event, cl_int, void *), void *user)
{
	cl_int error = enter(F_clSetEventCallback);
	struct callback *callback;
	struct event *event;

	if (error)
		return error;
	if (plan.late)
		pthread_once(&late_once, late_start);
	pthread_mutex_lock(&lock);
	event = event_find(handle);
	if (event)
		event->n_refs++;
	pthread_mutex_unlock(&lock);
	if (!event)
		die("clSetEventCallback of an event that was released, or never was one");
	callback = allocated(sizeof(*callback));
	callback->event = event;
	callback->function = function;
	callback->user = user;
	error = real.clSetEventCallback(handle, type, on_event, callback);
	if (error) {
		event_put(event);
		free(callback);
	}
	return error;
}

/* Only launches with write-once objects have such events, and no test has both. */
cl_event CL_API_CALL clCreateUserEvent(cl_context context, cl_int *ret_error)
{
	die("clCreateUserEvent is not simulated");
}

cl_int CL_API_CALL clSetUserEventStatus(cl_event event, cl_int status)
{
	die("clSetUserEventStatus is not simulated");
}
