/* SPDX-License-Identifier: MIT */
/*
 * driver_stream.c - order: streams (a thread each), events, callbacks, and capture.
 *
 * A command waits for those before it on its stream and for those it needs: what the default stream means, and what
 * cuStreamWaitEvent() asked for.
 */
#include "driver_own.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HELD_NS 2000000u		/* nothing is held back longer, */
#define FIRST_NS 100000000u		/* but behind one that has begun, and is first: its thread may sleep */
#define MAX_POLLS 4

struct CUstream_st {
	struct CUstream_st *next;	/* of its context */
	struct context *ctx;
	unsigned id, flags;
	int priority;
	bool blocking;			/* the default stream waits for it, and it for that one */
	long thread_id;			/* of a thread's default stream */
	bool destroyed, stop, running;
	struct op *head, *tail;		/* not done */
	struct op *last;		/* submitted; a reference */
	pthread_t thread;
	int worker;			/* the device's thread of it; -1: none yet */
	struct CUgraph_st *capture;
	bool captures_origin;
	int capture_mode;		/* 0: no thread may allocate or wait; 1: this thread may not; 2: all may */
	long capture_thread;
};

struct CUevent_st {
	struct CUevent_st *next;
	struct context *ctx;
	unsigned flags;
	struct op *op;			/* what it was recorded behind; NULL: never */
	struct CUgraph_st *capture;	/* recorded while capturing */
};

static struct CUevent_st *events;
static unsigned n_streams;
/* Of contexts that have ended: a program that still has a handle uses memory that was reused. */
static struct CUevent_st *dead_events;
static struct CUstream_st *dead_streams;

static long thread_id(void)
{
	return syscall(SYS_gettid);
}

/* ---- commands; under the lock */

static void op_put(struct op *op)
{
	if (!op || --op->refs)
		return;
	for (size_t i = 0; i < op->n_needs; i++)
		op_put(op->needs[i]);
	free(op->needs);
	free(op->data);
	free(op);
}

static void op_need(struct op *op, struct op *other)
{
	struct op **more;

	if (!other || other->done)
		return;
	more = realloc(op->needs, (op->n_needs + 1) * sizeof(*more));
	if (!more)
		return;
	op->needs = more;
	op->needs[op->n_needs++] = other;
	other->refs++;
}

static bool needs_done(const struct op *op)
{
	for (size_t i = 0; i < op->n_needs; i++) {
		if (!op->needs[i]->done)
			return false;
	}
	return true;
}

/* The time until which a command that could run is held back; 0: it may run. Streams made later go first, unless told
 * otherwise. But a command may wait for an earlier stream, so no thread waits long for its end. */
static uint64_t held_until(const struct op *op)
{
	uint64_t now = driver_now_ns(), until = 0, limit;

	if (op->held_until > now && !op->hurried && op->polls > 0)
		until = op->held_until;
	for (struct CUstream_st *each = op->stream->ctx->streams; each && plan.order; each = each->next) {
		struct op *other = each->head;

		if (each->id <= op->stream->id || !other || !needs_done(other))
			continue;
		/* When to look again; or, of one that has begun, until when its end is waited for. */
		limit = !other->started || plan.patient ? now + HELD_NS : other->started_ns + FIRST_NS;
		if (limit > now && limit > until)
			until = limit;
	}
	return until;
}

/* A thread waits: nothing is held back any more. */
static void hurry(struct context *ctx)
{
	for (struct CUstream_st *each = ctx->streams; each; each = each->next) {
		for (struct op *op = each->head; op; op = op->next)
			op->hurried = true;
	}
	pthread_cond_broadcast(&changed);
}

static void asked(struct CUstream_st *stream)
{
	for (struct op *op = stream->head; op; op = op->next)
		op->polls--;
	pthread_cond_broadcast(&changed);
}

static void finish(struct CUstream_st *stream, struct op *op, CUresult error)
{
	op->error = error;
	if (error)
		driver_fail_context(stream->ctx, error);
	op->done = true;
	op->done_ns = driver_now_ns();
	stream->head = op->next;
	if (!stream->head)
		stream->tail = NULL;
	pthread_cond_broadcast(&changed);
	op_put(op);
}

static void *stream_main(void *arg)
{
	struct CUstream_st *stream = arg;

	pthread_mutex_lock(&lock);
	while (stream->head || !stream->stop) {
		struct op *op = stream->head;
		CUresult error;

		uint64_t until;

		if (!op || !needs_done(op)) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		until = held_until(op);
		if (until) {
			struct timespec when = { (time_t)(until / 1000000000), (long)(until % 1000000000) };

			pthread_cond_timedwait(&changed, &lock, &when);
			continue;
		}
		op->started = true;
		op->started_ns = driver_now_ns();
		pthread_cond_broadcast(&changed);
		error = stream->ctx->error;
		if (!error || op->in_callback) {
			pthread_mutex_unlock(&lock);
			error = op->run ? op->run(op) : 0;
			pthread_mutex_lock(&lock);
			if (!error)
				error = stream->ctx->error;
		}
		finish(stream, op, error);
	}
	if (stream->worker >= 0)
		close(stream->worker);
	stream->worker = -1;
	stream->running = false;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* A thread for launches in the device, which the stream keeps. */
int stream_worker(struct op *op)
{
	if (op->stream->worker < 0)
		op->stream->worker = device_worker();
	return op->stream->worker;
}

/* ---- streams */

static struct CUstream_st *stream_make(struct context *ctx, unsigned flags, int priority)
{
	struct CUstream_st *stream = calloc(1, sizeof(*stream));
	pthread_attr_t attr;
	sigset_t all, old;
	int ret;

	if (!stream)
		return NULL;
	stream->ctx = ctx;
	stream->flags = flags;
	stream->priority = priority;
	stream->blocking = !(flags & CU_STREAM_NON_BLOCKING);
	stream->id = ++n_streams;
	stream->worker = -1;
	stream->running = true;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	ret = pthread_create(&stream->thread, &attr, stream_main, stream);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (ret) {
		free(stream);
		return NULL;
	}
	stream->next = ctx->streams;
	ctx->streams = stream;
	counts.streams++;
	return stream;
}

__attribute__((noreturn))
static void die_of_dead(const char *what, const void *handle)
{
	driver_say("%s %p is used, whose context is gone", what, handle);
	_exit(DRIVER_DEAD_STATUS);
}

static void check_stream(CUstream handle)
{
	for (struct CUstream_st *each = dead_streams; each; each = each->next)
		if (each == handle)
			die_of_dead("stream", handle);
}

void stream_begin_context(struct context *ctx)
{
	ctx->streams = NULL;
	ctx->legacy = stream_make(ctx, 0, 0);
	counts.streams--;	/* of no program's */
}

void stream_end_context(struct context *ctx)
{
	pthread_mutex_lock(&lock);
	hurry(ctx);
	for (struct CUstream_st *each = ctx->streams; each; each = each->next) {
		each->stop = true;
		if (!each->destroyed && each != ctx->legacy && !each->thread_id) {
			counts.streams--;
			counts.left_behind++;
		}
	}
	pthread_cond_broadcast(&changed);
	for (struct CUstream_st *each = ctx->streams; each; each = each->next) {
		while (each->running)
			pthread_cond_wait(&changed, &lock);
	}
	while (ctx->streams) {
		struct CUstream_st *stream = ctx->streams;

		ctx->streams = stream->next;
		op_put(stream->last);
		stream->next = dead_streams;
		dead_streams = stream;
	}
	ctx->legacy = NULL;
	for (struct CUevent_st **at = &events; *at;) {
		struct CUevent_st *event = *at;

		if (event->ctx != ctx) {
			at = &event->next;
			continue;
		}
		*at = event->next;
		op_put(event->op);
		event->next = dead_events;
		dead_events = event;
		counts.events--;
		counts.left_behind++;
	}
	pthread_mutex_unlock(&lock);
}

static struct CUstream_st *thread_stream(struct context *ctx)
{
	long id = thread_id();
	struct CUstream_st *stream = ctx->streams;

	while (stream && stream->thread_id != id)
		stream = stream->next;
	if (!stream) {
		stream = stream_make(ctx, 0, 0);
		if (stream) {
			stream->thread_id = id;
			counts.streams--;
		}
	}
	return stream;
}

/* Of the program's, in this context. */
static struct CUstream_st *own_stream(struct context *ctx, CUstream handle)
{
	struct CUstream_st *stream = ctx->streams;

	while (stream && (stream != handle || stream->destroyed || stream == ctx->legacy || stream->thread_id))
		stream = stream->next;
	return stream;
}

struct CUstream_st *stream_find_locked(struct context *ctx, CUstream handle, bool per_thread)
{
	struct CUstream_st *stream;

	if (handle == CU_STREAM_PER_THREAD || (!handle && per_thread))
		return thread_stream(ctx);
	if (!handle || handle == CU_STREAM_LEGACY)
		return ctx->legacy;
	stream = own_stream(ctx, handle);
	for (struct context *each = contexts; each && !stream; each = each->next)
		stream = own_stream(each, handle);
	if (!stream)
		check_stream(handle);
	return stream;
}

struct context *stream_context(struct context *ctx, CUstream handle, bool per_thread)
{
	struct CUstream_st *stream;

	pthread_mutex_lock(&lock);
	stream = stream_find_locked(ctx, handle, per_thread);
	pthread_mutex_unlock(&lock);
	return stream ? stream->ctx : ctx;
}

static CUresult submit(struct CUstream_st *stream, struct op template, struct op **ret_op)
{
	struct context *ctx = stream->ctx;
	struct op *op = malloc(sizeof(*op));

	if (!op) {
		free(template.data);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*op = template;
	op->stream = stream;
	op->refs = 2;			/* the queue's, and stream->last */
	if (stream == ctx->legacy) {
		for (struct CUstream_st *each = ctx->streams; each; each = each->next) {
			if (each->blocking && each != stream)
				op_need(op, each->last);
		}
	} else if (stream->blocking) {
		op_need(op, ctx->legacy->last);
	}
	if (plan.late || plan.order) {
		op->held_until = driver_now_ns() + HELD_NS;
		op->polls = plan.order ? MAX_POLLS : (int)(driver_random() % MAX_POLLS);
	}
	for (struct op *each = stream->head; each; each = each->next)
		each->polls--;
	if (stream->tail)
		stream->tail->next = op;
	else
		stream->head = op;
	stream->tail = op;
	op_put(stream->last);
	stream->last = op;
	if (ret_op) {
		*ret_op = op;
		op->refs++;
	}
	pthread_cond_broadcast(&changed);
	return 0;
}

static CUresult wait_for(struct context *ctx, struct op *op)
{
	if (!op->done)
		hurry(op->stream->ctx);
	while (!op->done)
		pthread_cond_wait(&changed, &lock);
	return op->error ? op->error : ctx->error;
}

static CUresult break_capture(struct context *ctx, CUresult error)
{
	for (struct CUstream_st *each = ctx->streams; each; each = each->next) {
		if (each->capture)
			each->capture->broken = true;
	}
	return error;
}

CUresult stream_submit(struct context *ctx, CUstream handle, bool per_thread, struct op template, bool wait)
{
	struct CUstream_st *stream;
	struct op *op = NULL;
	CUresult error;

	pthread_mutex_lock(&lock);
	stream = stream_find_locked(ctx, handle, per_thread);
	ctx = stream ? stream->ctx : ctx;
	if (!stream) {
		free(template.data);
		error = CUDA_ERROR_INVALID_HANDLE;
	} else if (stream->capture && wait) {
		free(template.data);
		error = break_capture(ctx, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	} else if (stream->capture) {
		error = graph_append(stream->capture, template);
	} else if (stream == ctx->legacy && ctx->n_capturing) {
		free(template.data);
		error = break_capture(ctx, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	} else {
		error = submit(stream, template, wait ? &op : NULL);
		if (op) {
			error = wait_for(ctx, op);
			op_put(op);
		}
	}
	pthread_mutex_unlock(&lock);
	return error;
}

bool stream_is_capturing(struct context *ctx, CUstream handle, bool per_thread)
{
	struct CUstream_st *stream;
	bool is;

	pthread_mutex_lock(&lock);
	stream = stream_find_locked(ctx, handle, per_thread);
	is = stream && stream->capture;
	pthread_mutex_unlock(&lock);
	return is;
}

static _Thread_local int thread_mode;	/* as capture_mode */

CUresult stream_check_capture(struct context *ctx, bool all)
{
	CUresult error = 0;

	if (!all && thread_mode == 2)
		return 0;
	pthread_mutex_lock(&lock);
	for (struct CUstream_st *each = ctx->streams; each && !error; each = each->next) {
		if (each->captures_origin && (all || (!each->capture_mode && !thread_mode) ||
					      (each->capture_mode != 2 && each->capture_thread == thread_id())))
			error = break_capture(ctx, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	}
	pthread_mutex_unlock(&lock);
	return error;
}

static CUresult exchange_mode(int *mode)
{
	int old = thread_mode;

	thread_mode = *mode;
	*mode = old;
	return 0;
}

void stream_drain(struct context *ctx)
{
	struct op all = { 0 };

	pthread_mutex_lock(&lock);
	hurry(ctx);
	/* What there is now, not what ever comes. */
	for (struct CUstream_st *each = ctx->streams; each; each = each->next)
		op_need(&all, each->last);
	while (!needs_done(&all))
		pthread_cond_wait(&changed, &lock);
	for (size_t i = 0; i < all.n_needs; i++)
		op_put(all.needs[i]);
	free(all.needs);
	pthread_mutex_unlock(&lock);
}

static CUresult create(struct context *ctx, CUstream *ret, unsigned flags, int priority)
{
	struct CUstream_st *stream;

	if (!ret || flags > CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	stream = stream_make(ctx, flags, priority);
	pthread_mutex_unlock(&lock);
	if (!stream)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret = stream;
	return 0;
}

/* Its commands continue. The structure stays until the context ends: no other stream gets this handle. */
static CUresult destroy(struct context *ctx, CUstream handle)
{
	struct CUstream_st *stream;

	pthread_mutex_lock(&lock);
	stream = stream_find_locked(ctx, handle, false);
	if (!stream || stream == ctx->legacy || stream->thread_id) {
		pthread_mutex_unlock(&lock);
		return CUDA_ERROR_INVALID_HANDLE;
	}
	stream->destroyed = true;
	stream->stop = true;
	counts.streams--;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return 0;
}

static CUresult query(struct context *ctx, CUstream handle, bool per_thread)
{
	struct CUstream_st *stream;
	CUresult error = 0;

	pthread_mutex_lock(&lock);
	stream = stream_find_locked(ctx, handle, per_thread);
	ctx = stream ? stream->ctx : ctx;
	if (!stream) {
		error = CUDA_ERROR_INVALID_HANDLE;
	} else if (stream->capture) {
		error = break_capture(ctx, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	} else if (stream == ctx->legacy && ctx->n_capturing) {
		error = break_capture(ctx, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	} else {
		if (stream->head)
			asked(stream);
		error = ctx->error ? ctx->error : stream->head ? CUDA_ERROR_NOT_READY : 0;
		/* The default stream is all blocking ones. */
		for (struct CUstream_st *each = ctx->streams; each && stream == ctx->legacy; each = each->next) {
			if (!error && each->blocking && each->head)
				error = CUDA_ERROR_NOT_READY;
		}
	}
	pthread_mutex_unlock(&lock);
	return error;
}

static CUresult synchronize(struct context *ctx, CUstream handle, bool per_thread)
{
	struct CUstream_st *stream;
	CUresult error = 0;

	pthread_mutex_lock(&lock);
	stream = stream_find_locked(ctx, handle, per_thread);
	ctx = stream ? stream->ctx : ctx;
	if (!stream) {
		error = CUDA_ERROR_INVALID_HANDLE;
	} else if (stream->capture) {
		error = break_capture(ctx, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	} else if (stream == ctx->legacy && ctx->n_capturing) {
		error = break_capture(ctx, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	} else {
		struct op *op = NULL;

		/* Behind it there is also what the default stream waits for. */
		if (stream == ctx->legacy)
			error = submit(stream, (struct op){ 0 }, &op);
		else if (stream->last) {
			op = stream->last;
			op->refs++;
		}
		if (op) {
			error = wait_for(ctx, op);
			op_put(op);
		}
	}
	pthread_mutex_unlock(&lock);
	return error;
}

static CUresult context_synchronize(struct context *ctx)
{
	CUresult error = stream_check_capture(ctx, true);

	if (error)
		return error;
	stream_drain(ctx);
	pthread_mutex_lock(&lock);
	error = ctx->error;
	pthread_mutex_unlock(&lock);
	return error;
}

CU_IN(cuStreamCreate, (CUstream *ret, unsigned flags), create(ctx, ret, flags, 0))
CU_IN(cuStreamCreateWithPriority, (CUstream *ret, unsigned flags, int priority), create(ctx, ret, flags, priority))
CU_IN(cuStreamDestroy, (CUstream stream), destroy(ctx, stream))
CU_IN(cuStreamDestroy_v2, (CUstream stream), destroy(ctx, stream))
CU_TWO(cuStreamQuery, _ptsz, (CUstream stream), query(ctx, stream, per_thread))
CU_TWO(cuStreamSynchronize, _ptsz, (CUstream stream), synchronize(ctx, stream, per_thread))
CU_IN(cuCtxSynchronize, (void), context_synchronize(ctx))

CU(cuCtxSynchronize_v2, (CUcontext handle))
{
	struct context *ctx;
	CUresult error = driver_enter(&call_cuCtxSynchronize_v2, handle ? INITIALISED : IN_CONTEXT, &ctx);

	if (error)
		return error;
	return context_synchronize(handle ? (struct context *)handle : ctx);
}

/* ---- what may be asked of a stream */

static CUresult ask(struct context *ctx, CUstream handle, bool per_thread, unsigned *flags, int *priority,
		    unsigned long long *id, CUcontext *context)
{
	struct CUstream_st *stream;

	pthread_mutex_lock(&lock);
	stream = stream_find_locked(ctx, handle, per_thread);
	if (stream && flags)
		*flags = stream->flags;
	if (stream && priority)
		*priority = stream->priority;
	if (stream && id)
		*id = stream->id;
	if (stream && context)
		*context = (CUcontext)stream->ctx;
	pthread_mutex_unlock(&lock);
	return stream ? 0 : CUDA_ERROR_INVALID_HANDLE;
}

CU_TWO(cuStreamGetFlags, _ptsz, (CUstream stream, unsigned *flags),
       ask(ctx, stream, per_thread, flags, NULL, NULL, NULL))
CU_TWO(cuStreamGetPriority, _ptsz, (CUstream stream, int *priority),
       ask(ctx, stream, per_thread, NULL, priority, NULL, NULL))
CU_TWO(cuStreamGetId, _ptsz, (CUstream stream, unsigned long long *id),
       ask(ctx, stream, per_thread, NULL, NULL, id, NULL))
CU_TWO(cuStreamGetCtx, _ptsz, (CUstream stream, CUcontext *context),
       ask(ctx, stream, per_thread, NULL, NULL, NULL, context))
CU_TWO(cuStreamGetDevice, _ptsz, (CUstream stream, CUdevice *device), (*device = 0))
CU_TWO(cuStreamAttachMemAsync, _ptsz, (CUstream stream, CUdeviceptr p, size_t size, unsigned flags), 0)

/* ---- events */

static struct CUevent_st *event_of(CUevent handle)
{
	struct CUevent_st *event = events;

	while (event && event != handle)
		event = event->next;
	for (struct CUevent_st *each = event ? NULL : dead_events; each; each = each->next)
		if (each == handle)
			die_of_dead("event", handle);
	return event;
}

static CUresult event_create(struct context *ctx, CUevent *ret, unsigned flags)
{
	struct CUevent_st *event;

	if (!ret || flags > 7)
		return CUDA_ERROR_INVALID_VALUE;
	event = calloc(1, sizeof(*event));
	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->ctx = ctx;
	event->flags = flags;
	pthread_mutex_lock(&lock);
	event->next = events;
	events = event;
	counts.events++;
	pthread_mutex_unlock(&lock);
	*ret = event;
	return 0;
}

static CUresult event_destroy(CUevent handle)
{
	struct CUevent_st **at = &events, *event;

	pthread_mutex_lock(&lock);
	event = event_of(handle);
	while (event && *at != event)
		at = &(*at)->next;
	if (event) {
		*at = event->next;
		op_put(event->op);
		counts.events--;
	}
	pthread_mutex_unlock(&lock);
	free(event);
	return event ? 0 : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult event_record(struct context *ctx, CUevent handle, CUstream on, bool per_thread)
{
	struct CUevent_st *event;
	struct CUstream_st *stream;
	struct op *op;
	CUresult error = 0;

	pthread_mutex_lock(&lock);
	event = event_of(handle);
	stream = stream_find_locked(ctx, on, per_thread);
	if (!event || !stream || event->ctx != stream->ctx) {
		error = CUDA_ERROR_INVALID_HANDLE;
	} else if (stream->capture) {
		event->capture = stream->capture;
	} else if (stream == ctx->legacy && ctx->n_capturing) {
		error = break_capture(ctx, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	} else {
		error = submit(stream, (struct op){ 0 }, &op);
		if (!error) {
			op_put(event->op);
			event->op = op;
			event->capture = NULL;
		}
	}
	pthread_mutex_unlock(&lock);
	return error;
}

static CUresult event_query(struct context *ctx, CUevent handle, bool wait)
{
	struct CUevent_st *event;
	CUresult error = 0;
	struct op *op;

	pthread_mutex_lock(&lock);
	event = event_of(handle);
	op = event ? event->op : NULL;
	if (!event) {
		error = CUDA_ERROR_INVALID_HANDLE;
	} else if (event->capture) {
		error = break_capture(ctx, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	} else if (op && wait) {
		op->refs++;
		error = wait_for(event->ctx, op);
		op_put(op);
	} else if (op && !op->done) {
		asked(op->stream);
		error = CUDA_ERROR_NOT_READY;
	} else if (op) {
		error = op->error ? op->error : event->ctx->error;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

static CUresult elapsed(float *ms, CUevent start, CUevent end)
{
	struct CUevent_st *from, *to;
	CUresult error = 0;

	pthread_mutex_lock(&lock);
	from = event_of(start);
	to = event_of(end);
	if (!from || !to || !from->op || !to->op || (from->flags | to->flags) & CU_EVENT_DISABLE_TIMING)
		error = CUDA_ERROR_INVALID_HANDLE;
	else if (!from->op->done || !to->op->done)
		error = CUDA_ERROR_NOT_READY;
	else
		*ms = (float)((double)(int64_t)(to->op->done_ns - from->op->done_ns) / 1e6);
	pthread_mutex_unlock(&lock);
	return error;
}

static CUresult wait_event(struct context *ctx, CUstream on, bool per_thread, CUevent handle, unsigned flags)
{
	struct CUevent_st *event;
	struct CUstream_st *stream;
	struct op template = { 0 };
	CUresult error = 0;

	if (flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	event = event_of(handle);
	stream = stream_find_locked(ctx, on, per_thread);
	if (!event || !stream) {
		error = CUDA_ERROR_INVALID_HANDLE;
	} else if (event->capture && (!stream->capture || stream->capture == event->capture)) {
		if (stream == ctx->legacy)
			error = break_capture(ctx, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
		else
			stream->capture = event->capture;	/* it captures too, until the end */
	} else if (stream->capture) {
		error = break_capture(ctx, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	} else if (event->op && !event->op->done) {
		op_need(&template, event->op);
		error = submit(stream, template, NULL);
	}
	pthread_mutex_unlock(&lock);
	return error;
}

CU_IN(cuEventCreate, (CUevent *ret, unsigned flags), event_create(ctx, ret, flags))
CU_IN(cuEventDestroy, (CUevent event), event_destroy(event))
CU_IN(cuEventDestroy_v2, (CUevent event), event_destroy(event))
CU_TWO(cuEventRecord, _ptsz, (CUevent event, CUstream stream), event_record(ctx, event, stream, per_thread))
CU_TWO(cuEventRecordWithFlags, _ptsz, (CUevent event, CUstream stream, unsigned flags),
       event_record(ctx, event, stream, per_thread))
CU_IN(cuEventQuery, (CUevent event), event_query(ctx, event, false))
CU_IN(cuEventSynchronize, (CUevent event), event_query(ctx, event, true))
CU_IN(cuEventElapsedTime, (float *ms, CUevent start, CUevent end), elapsed(ms, start, end))
CU_IN(cuEventElapsedTime_v2, (float *ms, CUevent start, CUevent end), elapsed(ms, start, end))
CU_TWO(cuStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned flags),
       wait_event(ctx, stream, per_thread, event, flags))

/* ---- callbacks, which may not use the driver */

struct callback {
	CUhostFn *function;
	CUstreamCallback *old;
	CUstream stream;
	void *data;
};

static CUresult run_callback(struct op *op)
{
	struct callback callback;
	CUresult error;

	memcpy(&callback, op->data, sizeof(callback));
	pthread_mutex_lock(&lock);
	error = op->stream->ctx->error;
	pthread_mutex_unlock(&lock);
	driver_in_callback = true;
	if (callback.old)
		callback.old(callback.stream, error, callback.data);
	else if (!error)
		callback.function(callback.data);
	driver_in_callback = false;
	return 0;
}

static CUresult add_callback(struct context *ctx, CUstream stream, bool per_thread, struct callback callback)
{
	struct op op = { .run = run_callback, .data_size = sizeof(callback), .in_callback = true };

	if (!callback.function && !callback.old)
		return CUDA_ERROR_INVALID_VALUE;
	op.data = malloc(sizeof(callback));
	if (!op.data)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(op.data, &callback, sizeof(callback));
	return stream_submit(ctx, stream, per_thread, op, false);
}

CU_TWO(cuLaunchHostFunc, _ptsz, (CUstream stream, CUhostFn *function, void *data),
       add_callback(ctx, stream, per_thread, (struct callback){ .function = function, .data = data }))
CU_TWO(cuStreamAddCallback, _ptsz, (CUstream stream, CUstreamCallback *function, void *data, unsigned flags),
       add_callback(ctx, stream, per_thread, (struct callback){ .old = function, .stream = stream, .data = data }))

/* ---- capture: into a graph */

static CUresult begin_capture(struct context *ctx, CUstream handle, bool per_thread, int mode)
{
	struct CUstream_st *stream;
	CUresult error = 0;

	pthread_mutex_lock(&lock);
	stream = stream_find_locked(ctx, handle, per_thread);
	if (!stream)
		error = CUDA_ERROR_INVALID_HANDLE;
	else if (stream == ctx->legacy)
		error = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	else if (stream->capture)
		error = CUDA_ERROR_ILLEGAL_STATE;
	else
		stream->capture = calloc(1, sizeof(*stream->capture));
	if (!error && !stream->capture)
		error = CUDA_ERROR_OUT_OF_MEMORY;
	if (!error) {
		stream->captures_origin = true;
		stream->capture_mode = mode;
		stream->capture_thread = thread_id();
		ctx->n_capturing++;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

static CUresult end_capture(struct context *ctx, CUstream handle, bool per_thread, CUgraph *ret)
{
	struct CUstream_st *stream;
	struct CUgraph_st *graph;
	CUresult error = 0;

	pthread_mutex_lock(&lock);
	stream = stream_find_locked(ctx, handle, per_thread);
	if (!stream || !stream->capture) {
		pthread_mutex_unlock(&lock);
		return stream ? CUDA_ERROR_ILLEGAL_STATE : CUDA_ERROR_INVALID_HANDLE;
	}
	if (!stream->captures_origin) {
		pthread_mutex_unlock(&lock);
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	}
	graph = stream->capture;
	for (struct CUstream_st *each = ctx->streams; each; each = each->next) {
		if (each->capture == graph)
			each->capture = NULL;
	}
	for (struct CUevent_st *each = events; each; each = each->next) {
		if (each->capture == graph)
			each->capture = NULL;
	}
	stream->captures_origin = false;
	ctx->n_capturing--;
	if (graph->broken) {
		graph_free(graph);
		free(graph);
		graph = NULL;
		error = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	}
	pthread_mutex_unlock(&lock);
	*ret = graph;
	return error;
}

static CUresult capture_status(struct context *ctx, CUstream handle, bool per_thread, int *status,
			       unsigned long long *id)
{
	struct CUstream_st *stream;
	CUresult error = 0;

	pthread_mutex_lock(&lock);
	stream = stream_find_locked(ctx, handle, per_thread);
	if (stream)
		*status = !stream->capture ? CU_STREAM_CAPTURE_STATUS_NONE : stream->capture->broken ?
			CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
	if (stream && id)
		*id = stream->id;
	if (!stream)
		error = CUDA_ERROR_INVALID_HANDLE;
	else if (stream == ctx->legacy && ctx->n_capturing)
		error = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	pthread_mutex_unlock(&lock);
	return error;
}

CU_TWO(cuStreamBeginCapture, _ptsz, (CUstream stream), begin_capture(ctx, stream, per_thread, 0))
CU_TWO(cuStreamBeginCapture_v2, _ptsz, (CUstream stream, int mode), begin_capture(ctx, stream, per_thread, mode))
CU_TWO(cuStreamBeginCaptureToGraph, _ptsz, (CUstream stream, CUgraph graph, const void *dependencies,
					    const void *data, size_t n, int mode), CUDA_ERROR_NOT_SUPPORTED)
CU_TWO(cuStreamEndCapture, _ptsz, (CUstream stream, CUgraph *ret), end_capture(ctx, stream, per_thread, ret))
CU_TWO(cuStreamIsCapturing, _ptsz, (CUstream stream, int *status),
       capture_status(ctx, stream, per_thread, status, NULL))
CU_TWO(cuStreamGetCaptureInfo, _ptsz, (CUstream stream, int *status, unsigned long long *id),
       capture_status(ctx, stream, per_thread, status, id))
CU_TWO(cuStreamGetCaptureInfo_v2, _ptsz, (CUstream stream, int *status, unsigned long long *id, CUgraph *graph,
					  const void **dependencies, size_t *n),
       capture_status(ctx, stream, per_thread, status, id))
CU_TWO(cuStreamGetCaptureInfo_v3, _ptsz, (CUstream stream, int *status, unsigned long long *id, CUgraph *graph,
					  const void **dependencies, const void **data, size_t *n),
       capture_status(ctx, stream, per_thread, status, id))
CU(cuThreadExchangeStreamCaptureMode, (int *mode))
{
	ENTER(cuThreadExchangeStreamCaptureMode, INITIALISED);
	return exchange_mode(mode);
}
