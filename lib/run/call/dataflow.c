/* SPDX-License-Identifier: MIT */
/* dataflow.c - see dataflow.h. */
#include "run/call/dataflow.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "core/index.h"
#include "core/object.h"
#include "run/object/alloc.h"
#include "run/call/bind.h"
#include "run/call/call.h"
#include "run/call/dataflow_queue.h"
#include "run/copy/explicit.h"
#include "run/wait/sync.h"

/* ---- turns */

/*
 * Give the turn to the next call. This function counts the woken thread as busy, so that adsm_once_busy is never too
 * low. Lock held.
 */
static void give_turn(struct adsm_dataflow_queue *queue, enum adsm_dataflow_turn turn)
{
	uint64_t number = ++queue->turns[turn];

	for (struct adsm_dataflow_call *call = queue->first; call && call->number <= number; call = call->next)
		if (call->number == number && call->held && call->waits_for == turn) {
			call->held = false;
			atomic_fetch_add(&adsm_once_busy, 1);
		}
	atomic_fetch_add(&queue->word, 1);
}

static void pass_turn(struct adsm_dataflow_queue *queue, enum adsm_dataflow_turn turn)
{
	adsm_mutex_lock(&adsm_dataflow_mutex);
	give_turn(queue, turn);
	adsm_mutex_unlock(&adsm_dataflow_mutex);
	adsm_os_wake(&queue->word, INT_MAX, false);
}

static void take_turn(struct adsm_dataflow_queue *queue, struct adsm_dataflow_call *call, enum adsm_dataflow_turn turn)
{
	adsm_mutex_lock(&adsm_dataflow_mutex);
	while (queue->turns[turn] != call->number) {
		uint32_t word = atomic_load(&queue->word);

		if (!call->held) {
			call->held = true;
			call->waits_for = turn;
			atomic_fetch_sub(&adsm_once_busy, 1);
		}
		adsm_mutex_unlock(&adsm_dataflow_mutex);
		adsm_os_wait(&queue->word, word, 0, false);
		adsm_mutex_lock(&adsm_dataflow_mutex);
	}
	adsm_mutex_unlock(&adsm_dataflow_mutex);
}

/* ---- one call */

static size_t bytes_of(const struct adsm_dataflow_range *range)
{
	return range->count * range->object->handle.size;
}

static size_t offset_of(const struct adsm_dataflow_range *range)
{
	return range->first * range->object->handle.size;
}

/* In the note of the wait the calling code identifies the call, as it does for a thread. */
static int wait_for(const struct adsm_dataflow_call *call, const struct adsm_dataflow_range *range, size_t unit)
{
	struct adsm_once_note note = { .address = (uintptr_t)range->object->handle.address, .unit = unit,
				       .where = (uintptr_t)call->where, .device = ADSM_ONCE_ON_HOST };
	struct adsm_once_wait wait;
	int error;

	if (adsm_once_spin(range->object->shared, unit))
		return 0;
	note.thread = adsm_os_thread_id();
	adsm_once_wait_begin(&wait, adsm_once_table, range->object->shared, &note);
	atomic_fetch_sub(&adsm_once_busy, 1);
	do
		error = adsm_once_wait_once(&wait, adsm_once_sleep);
	while (error == -EAGAIN);
	atomic_fetch_add(&adsm_once_busy, 1);
	adsm_once_wait_end(&wait);
	return error ? adsm_fail(error, "the call reads unit %zu of the write-once object at %p, which is not set, and "
				 "will not be set: %s", unit, range->object->handle.address,
				 adsm_error_string(error)) : 0;
}

static int wait_for_all(const struct adsm_dataflow_call *call)
{
	int error = 0;

	for (size_t i = 0; i < call->n_ranges && !error; i++)
		for (size_t u = 0; u < call->ranges[i].count && !error && !call->ranges[i].sets; u++)
			if (!adsm_once_is_set(call->ranges[i].object->shared, call->ranges[i].first + u))
				error = wait_for(call, &call->ranges[i], call->ranges[i].first + u);
	return error;
}

static void free_buffers(struct adsm_dataflow_call *call)
{
	for (size_t i = 0; i < call->n_ranges; i++) {
		if (call->ranges[i].buffer)
			adsm_object_free(call->ranges[i].buffer, ADSM_MAKER_DEVICE_ALLOC, true, NULL);
		call->ranges[i].buffer = NULL;
	}
}

static int make_buffers(struct adsm_home *home, struct adsm_dataflow_call *call)
{
	const struct adsm_object_options options = { .device_only = true };
	int error = 0;

	for (size_t i = 0; i < call->n_ranges && !error; i++) {
		struct adsm_dataflow_range *range = &call->ranges[i];

		error = adsm_object_alloc(home, bytes_of(range), &options, &range->buffer);
		if (!error)
			range->arg->data = range->buffer;
	}
	if (error)
		free_buffers(call);
	return error;
}

/* Copy the units that the call reads to the device, or those that it sets from there. */
static int copy(const struct adsm_dataflow_call *call, bool sets)
{
	int error = 0;

	for (size_t i = 0; i < call->n_ranges && !error; i++) {
		const struct adsm_dataflow_range *range = &call->ranges[i];
		const adsmOnce *once = &range->object->handle;

		if (range->sets != sets)
			continue;
		error = sets ? adsm_copy_explicit((char *)once->room + offset_of(range), range->buffer,
						  bytes_of(range), ADSM_TO_HOST, NULL) :
			adsm_copy_explicit(range->buffer, (const char *)once->data + offset_of(range),
					   bytes_of(range), ADSM_TO_DEVICE, NULL);
	}
	return error;
}

static void set_units(const struct adsm_dataflow_range *range)
{
	for (size_t u = range->first; u < range->first + range->count; u++)
		if (adsm_once_set(adsm_once_table, range->object->shared, (uintptr_t)range->object->handle.address, u))
			adsm_error("unit %zu of the write-once object at %p was set before the end of the call that "
				   "sets it: a unit is written only once", u, range->object->handle.address);
}

/*
 * The thread now only waits for its device: for earlier calls, which may wait for units, and for its own call. So for
 * the search for deadlocks it counts as a part of its device (once/deadlock.c).
 */
static void begin_device(const struct adsm_home *home)
{
	atomic_fetch_add(&adsm_once_in_calls[home->index], 1);
	atomic_fetch_sub(&adsm_once_busy, 1);
}

static void end_device(const struct adsm_home *home)
{
	atomic_fetch_add(&adsm_once_busy, 1);
	atomic_fetch_sub(&adsm_once_in_calls[home->index], 1);
}

/* Also after an error the call takes and passes all of its turns. The last one it has when this returns. */
static int run_call(struct adsm_dataflow_queue *queue, struct adsm_home *home, struct adsm_dataflow_call *call)
{
	int error = wait_for_all(call);
	const bool ready = !error;	/* otherwise the error is another call's, and
					   -ENOMEM does not mean this call's memory */

	take_turn(queue, call, ADSM_DATAFLOW_MEMORY);
	if (ready)
		error = make_buffers(home, call);
	if (ready && error == -ENOMEM) {
		/* Earlier calls have some of the memory, and they need no more of it. */
		take_turn(queue, call, ADSM_DATAFLOW_END);
		error = make_buffers(home, call);
	}
	pass_turn(queue, ADSM_DATAFLOW_MEMORY);
	if (!error)
		error = copy(call, false);
	take_turn(queue, call, ADSM_DATAFLOW_START);
	begin_device(home);
	if (!error)
		error = adsm_call(call->kernel, call->grid, call->block, call->args, call->n_args, call->where);
	pass_turn(queue, ADSM_DATAFLOW_START);
	/* This waits for the calls of this thread, that is, for this call. */
	if (!error)
		error = adsm_sync(call->where);
	end_device(home);
	/* All results are on the host before the first unit is set. */
	if (!error)
		error = copy(call, true);
	free_buffers(call);
	take_turn(queue, call, ADSM_DATAFLOW_END);
	return error;
}

/* Will other calls, which have not failed, set the units that this call has not set? Lock held. */
static bool others_set(const struct adsm_dataflow_range *range)
{
	for (size_t u = range->first; u < range->first + range->count; u++)
		if (!adsm_once_is_set(range->object->shared, u) && !adsm_dataflow_comes(range->object, u, false))
			return false;
	return true;
}

/* Threads that wait for units which only this call was to set get the error, now or when they begin to wait. */
static void give_up(struct adsm_home *home, struct adsm_dataflow_call *call, int error)
{
	adsm_error("a call of kernel '%s' on device %d ends without setting its write-once units: %s",
		   call->kernel->info->name, home->index, adsm_last_error());
	adsm_mutex_lock(&adsm_dataflow_mutex);
	call->failed = true;
	for (size_t i = 0; i < call->n_ranges; i++)
		if (call->ranges[i].sets && !others_set(&call->ranges[i]))
			adsm_once_fail(call->ranges[i].object->shared, home->index, error);
	adsm_mutex_unlock(&adsm_dataflow_mutex);
	adsm_once_wake_all(adsm_once_table);
}

static void drop(struct adsm_dataflow_call *call)
{
	for (size_t i = 0; i < call->n_ranges; i++)
		adsm_once_give(call->ranges[i].object);
	free(call->pointers);
	free(call);
}

/* ---- the queues */

static struct adsm_dataflow_call *next_call(struct adsm_dataflow_queue *queue, uint32_t *ret_word, bool *ret_stop)
{
	struct adsm_dataflow_call *call;

	adsm_mutex_lock(&adsm_dataflow_mutex);
	call = queue->next;
	queue->next = call ? call->next : NULL;
	*ret_word = atomic_load(&queue->word);
	*ret_stop = queue->stop;
	adsm_mutex_unlock(&adsm_dataflow_mutex);
	return call;
}

static void end_call(struct adsm_dataflow_queue *queue, struct adsm_dataflow_call *call)
{
	adsm_mutex_lock(&adsm_dataflow_mutex);
	queue->first = call->next;
	give_turn(queue, ADSM_DATAFLOW_END);
	/* If a call waits for a thread, this thread takes it and stays busy. */
	if (queue->n_entered < queue->turns[ADSM_DATAFLOW_END] + queue->n_threads)
		atomic_fetch_sub(&adsm_once_busy, 1);
	drop(call);
	adsm_mutex_unlock(&adsm_dataflow_mutex);
	adsm_os_wake(&queue->word, INT_MAX, false);
	atomic_fetch_add(&adsm_dataflow_ended, 1);
	adsm_os_wake(&adsm_dataflow_ended, INT_MAX, false);
}

static void run_queue(void *arg)
{
	struct adsm_dataflow_queue *queue = arg;
	struct adsm_home *home = &adsm_homes[queue - adsm_dataflow_queues];
	struct adsm_dataflow_call *call;
	uint32_t word;
	bool stop;
	int error;

	/* If a call has moved an object meanwhile, it comes back. */
	adsm_home_set(home->index);
	while ((call = next_call(queue, &word, &stop)) || !stop) {
		if (!call) {
			adsm_os_wait(&queue->word, word, 0, false);
			continue;
		}
		error = run_call(queue, home, call);
		if (error)
			give_up(home, call, error);
		for (size_t i = 0; !error && i < call->n_ranges; i++)
			if (call->ranges[i].sets)
				set_units(&call->ranges[i]);
		end_call(queue, call);
	}
}

/* Lock held. */
static int start_queue(struct adsm_dataflow_queue *queue)
{
	int error = 0;

	if (queue->n_threads)
		return 0;
	queue->stop = false;
	while (queue->n_threads < ADSM_DATAFLOW_AT_ONCE && !error) {
		error = adsm_os_thread_start(&queue->threads[queue->n_threads], "adsm-dataflow", run_queue, queue);
		queue->n_threads += !error;
	}
	return error && !queue->n_threads ?
		adsm_fail(error, "cannot start a thread for write-once calls (ulimit -u, ulimit -v)") : 0;
}

/* Failures of other calls no longer count, because this call may set the units. */
static void forget_failures(struct adsm_dataflow_call *call)
{
	for (size_t i = 0; i < call->n_ranges; i++)
		if (call->ranges[i].sets)
			atomic_store(&call->ranges[i].object->shared->failed, 0);
}

static int enter(struct adsm_home *home, struct adsm_dataflow_call *call)
{
	struct adsm_dataflow_queue *queue = &adsm_dataflow_queues[home->index];
	int error;

	adsm_mutex_lock(&adsm_dataflow_mutex);
	error = start_queue(queue);
	if (!error) {
		forget_failures(call);
		if (queue->first)
			queue->last->next = call;
		else
			queue->first = call;
		if (!queue->next)
			queue->next = call;
		call->number = queue->n_entered++;
		if (call->number < queue->turns[ADSM_DATAFLOW_END] + queue->n_threads)
			atomic_fetch_add(&adsm_once_busy, 1);
		queue->last = call;
		atomic_fetch_add(&queue->word, 1);
	}
	adsm_mutex_unlock(&adsm_dataflow_mutex);
	if (!error)
		adsm_os_wake(&queue->word, INT_MAX, false);
	return error;
}

/* ---- arguments of a call */

static int take_range(struct adsm_dataflow_call *call, adsmArg *arg)
{
	const adsmOnceRange *given = arg->data;
	struct adsm_once_object *object = given ? adsm_once_of(given->once) : NULL;
	struct adsm_dataflow_range *range = &call->ranges[call->n_ranges];

	if (!object)
		return -EINVAL;
	if (!given->count || given->first >= object->handle.count ||
	    given->count > object->handle.count - given->first)
		return adsm_fail(-EINVAL, "%zu units from unit %zu on do not exist: the write-once object at %p has "
				 "%zu units, counted from 0", given->count, given->first, object->handle.address,
				 object->handle.count);
	object = adsm_once_take((uintptr_t)object->handle.address);
	if (!object)
		return adsm_fail(-EINVAL, "the write-once object at %p is being freed", given->once->address);
	*range = (struct adsm_dataflow_range){ object, given->first, given->count, arg->access != ADSM_ACCESS_IN, arg,
					    NULL };
	call->n_ranges++;
	*arg = (adsmArg){ ADSM_ARG_POINTER, range->sets ? ADSM_ACCESS_OUT : ADSM_ACCESS_IN, NULL, 0 };
	return 0;
}

static bool overlap(const struct adsm_dataflow_range *a, const struct adsm_dataflow_range *b)
{
	return a->object == b->object && a->first < b->first + b->count && b->first < a->first + a->count;
}

/* Units that the call sets must not be set yet, and no other range of the call may name them. */
static int check_range(const struct adsm_dataflow_call *call, const struct adsm_dataflow_range *range)
{
	const void *address = range->object->handle.address;

	for (size_t i = 0; i < call->n_ranges; i++)
		if (&call->ranges[i] != range && overlap(&call->ranges[i], range))
			return adsm_fail(-EINVAL, "the call names units of the write-once object at %p twice, and sets "
					 "them", address);
	for (size_t u = range->first; u < range->first + range->count; u++)
		if (adsm_once_is_set(range->object->shared, u))
			return adsm_fail(-EEXIST, "unit %zu of the write-once object at %p is set: a unit is written "
					 "only once", u, address);
	return 0;
}

static int begin_units(const struct adsm_dataflow_call *call)
{
	bool sets = false;
	int error = 0;

	for (size_t i = 0; i < call->n_ranges && !error; i++)
		if (call->ranges[i].sets) {
			sets = true;
			error = check_range(call, &call->ranges[i]);
		}
	if (error)
		return error;
	if (!sets)
		return adsm_fail(-EINVAL, "adsmOnceCall(): no argument names units that the call sets (adsmOnceOut); "
				 "without such units the library cannot detect the end of the call");
	for (size_t i = 0; i < call->n_ranges; i++)
		for (size_t u = 0; u < call->ranges[i].count && call->ranges[i].sets; u++)
			adsm_once_fresh(call->ranges[i].object->shared, call->ranges[i].first + u);
	return 0;
}

/* Until the call has ended, what it uses cannot be freed (dataflow_end.c). */
static int keep_pointers(struct adsm_dataflow_call *call, const struct adsm_bound *bound)
{
	call->known = bound->known;
	if (!bound->n_pointers)
		return 0;
	call->pointers = calloc(bound->n_pointers, sizeof(*call->pointers));
	if (!call->pointers)
		return adsm_fail(-ENOMEM, "no memory for a call");
	for (size_t i = 0; i < bound->n_pointers; i++)
		call->pointers[i] = (struct adsm_dataflow_pointer){ (uintptr_t)bound->pointers[i].p,
								    bound->pointers[i].raw };
	call->n_pointers = bound->n_pointers;
	return 0;
}

/* Check the call as it will be made. Only the places of the ranges are not known yet. */
static int check_call(struct adsm_dataflow_call *call, struct adsm_home *home)
{
	struct adsm_launch launch;
	struct adsm_bound bound;
	int error = adsm_bind(&bound, home, call->kernel, call->args, call->n_args);

	for (size_t i = 0; !error && i < bound.n_pointers; i++) {
		const struct adsm_object *object = adsm_index_find((uintptr_t)bound.pointers[i].p);

		if (object && adsm_object_home(object) != home)
			error = adsm_fail(-EINVAL, "kernel '%s', argument '%s': the object is on device %d, but the "
					  "call is for device %d, and calls by ranges move no objects",
					  call->kernel->info->name, bound.pointers[i].what,
					  adsm_object_home(object)->index, home->index);
	}
	if (!error)
		error = keep_pointers(call, &bound);
	adsm_bind_end(&bound);
	return error ? error : adsm_call_check(call->kernel->info, home, call->grid, call->block, &launch);
}

/* Does the call keep a copy of the argument's bytes? The size of other arguments is not that of bytes at @data. */
static bool is_copied(const adsmArg *arg)
{
	return arg->kind == ADSM_ARG_VALUE || arg->kind == ADSM_ARG_CONST;
}

static int take_arguments(struct adsm_dataflow_call *call, const adsmArg *args, size_t n)
{
	char *bytes = call->bytes;
	int error = 0;

	for (size_t i = 0; i < n && !error; i++) {
		adsmArg *arg = &call->args[call->n_args];

		if (args[i].kind == ADSM_ARG_NONE)
			continue;
		*arg = args[i];
		call->n_args++;
		if (arg->kind == ADSM_ARG_ONCE) {
			error = take_range(call, arg);
		} else if (is_copied(arg)) {
			arg->data = arg->data ? memcpy(bytes, arg->data, arg->size) : NULL;
			bytes += (arg->size + 15) & ~(size_t)15;
		}
	}
	return error;
}

/* A call with room for @n arguments and @n_bytes bytes of their values. */
static struct adsm_dataflow_call *make_call(size_t n, size_t n_bytes)
{
	struct adsm_dataflow_call *call = calloc(1, sizeof(*call) + n_bytes + 16 +
						 n * (sizeof(*call->args) + sizeof(*call->ranges)));

	if (!call)
		return NULL;
	call->ranges = (struct adsm_dataflow_range *)(call + 1);
	call->args = (adsmArg *)(call->ranges + n);
	call->bytes = (char *)(((uintptr_t)(call->args + n) + 15) & ~(uintptr_t)15);
	return call;
}

int adsm_dataflow_call(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmArg *args, size_t n,
		       const void *where)
{
	struct adsm_home *home;
	struct adsm_dataflow_call *call;
	size_t n_bytes = 0;
	int error = adsm_home_get(ADSM_DEVICE_CURRENT, &home);

	if (error)
		return error;
	if (!kernel || !adsm_kernel_is_live(kernel))
		return adsm_fail(-EINVAL, "%p is not a kernel of a loaded module", (void *)kernel);
	for (size_t i = 0; i < n; i++) {
		if (!is_copied(&args[i]))
			continue;
		if (args[i].size > ADSM_CONST_MAX)
			return adsm_fail(-EINVAL, "argument %zu has %zu bytes, but the maximum is %zu", i, args[i].size,
					 ADSM_CONST_MAX);
		n_bytes += (args[i].size + 15) & ~(size_t)15;
	}
	call = make_call(n, n_bytes);
	if (!call)
		return adsm_fail(-ENOMEM, "no memory for a call");
	call->home = home;
	call->kernel = kernel;
	call->grid = grid;
	call->block = block;
	call->where = where;
	error = take_arguments(call, args, n);
	if (!error)
		error = check_call(call, home);
	if (!error)
		error = begin_units(call);
	if (!error)
		error = enter(home, call);
	if (error)
		drop(call);
	return error;
}

void adsm_dataflow_stop(void)
{
	for (int i = 0; i < ADSM_MAX_DEVICES; i++) {
		struct adsm_dataflow_queue *queue = &adsm_dataflow_queues[i];

		if (!queue->n_threads)
			continue;
		adsm_mutex_lock(&adsm_dataflow_mutex);
		queue->stop = true;
		atomic_fetch_add(&queue->word, 1);
		adsm_mutex_unlock(&adsm_dataflow_mutex);
		adsm_os_wake(&queue->word, INT_MAX, false);
		while (queue->n_threads)
			adsm_os_thread_join(&queue->threads[--queue->n_threads]);
	}
}
