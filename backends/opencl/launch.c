/* SPDX-License-Identifier: MIT */
/* launch.c - sets the arguments of a kernel, and enqueues it. */
#include "launch.h"

#include <errno.h>
#include <stdlib.h>

#include "behind.h"
#include "base/log.h"
#include "memory.h"
#include "program.h"
#include "queue.h"
#include "memory_kinds.h"
#include "once.h"

/* What one launch needs until it is enqueued. */
struct launch {
	struct adsm_cl_device *device;
	const struct adsm_launch *asked;
	struct adsm_cl_entry *entry;
	struct adsm_cl_once_launch *once;	/* NULL: no argument is a write-once object */
	cl_uint index;			/* the next argument of the kernel */
	size_t n_made, n_memories;
	cl_mem *made;			/* buffers for this launch only: constants, parts of objects */
	struct adsm_cl_memory **memories;	/* that the kernel uses, each once */
	cl_mem few_made[ADSM_DRIVEN_ARGS];
	struct adsm_cl_memory *few_memories[ADSM_DRIVEN_ARGS];
	void *room;			/* for more arguments, allocated; or NULL */
};

/* ---- arguments */

static int make_room(struct launch *l)
{
	const size_t n = l->asked->n_args;

	l->made = l->few_made;
	l->memories = l->few_memories;
	if (n <= ADSM_DRIVEN_ARGS)
		return 0;
	l->room = malloc(n * (sizeof(*l->made) + sizeof(*l->memories)));
	if (!l->room)
		return adsm_fail(-ENOMEM, "kernel '%s': no memory for %zu arguments", l->asked->name, n);
	l->made = l->room;
	l->memories = (struct adsm_cl_memory **)(l->made + n);
	return 0;
}

static void note_memory(struct launch *l, struct adsm_cl_memory *memory)
{
	for (size_t i = 0; i < l->n_memories; i++)
		if (l->memories[i] == memory)
			return;
	l->memories[l->n_memories++] = memory;
}

/* Set an argument to a buffer of this launch. The commands that use the buffer keep it alive. */
static cl_int set_made(struct launch *l, cl_mem buffer, cl_int error)
{
	if (error)
		return error;
	l->made[l->n_made++] = buffer;
	return adsm_cl.clSetKernelArg(l->entry->kernel, l->index++, sizeof(buffer), &buffer);
}

/* The rest of an object from @offset on, as a buffer of its own. */
static cl_int set_part(struct launch *l, struct adsm_cl_memory *memory, size_t offset)
{
	const cl_buffer_region region = { offset, memory->base.size - offset };
	cl_int error = CL_SUCCESS;
	cl_mem part = adsm_cl.clCreateSubBuffer(memory->buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
						&region, &error);

	return set_made(l, part, error);
}

static cl_int set_pointer(struct launch *l, const struct adsm_launch_arg *arg)
{
	struct adsm_cl_memory *memory = (struct adsm_cl_memory *)arg->memory;
	const struct adsm_cl_memory_kind *kind = l->device->memory_kind;
	cl_kernel kernel = l->entry->kernel;
	cl_ulong offset = arg->offset;
	cl_int error;

	if (memory)
		note_memory(l, memory);
	if (!l->entry->base.dialect && memory && offset) {
		if (kind->set_place)
			return kind->set_place(l->device, kernel, l->index++, memory, offset);
		return set_part(l, memory, offset);
	}
	error = memory ? kind->set_arg(l->device, kernel, l->index++, memory) :
		adsm_cl.clSetKernelArg(kernel, l->index++, sizeof(cl_mem), NULL);
	if (!error && l->entry->base.dialect)
		error = adsm_cl.clSetKernelArg(kernel, l->index++, sizeof(offset), &offset);
	return error;
}

static cl_int set_const(struct launch *l, const struct adsm_launch_arg *arg)
{
	cl_int error;
	cl_mem buffer = adsm_cl.clCreateBuffer(l->device->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, arg->size,
					       (void *)(uintptr_t)arg->data, &error);

	return set_made(l, buffer, error);
}

static cl_int set_arg(struct launch *l, const struct adsm_launch_arg *arg)
{
	if (arg->once)
		return adsm_cl_once_set_arg(l->once, l->entry->kernel, &l->index);
	switch (arg->kind) {
	case ADSM_LAUNCH_POINTER:
		return set_pointer(l, arg);
	case ADSM_LAUNCH_CONST:
		return set_const(l, arg);
	case ADSM_LAUNCH_LOCAL:
		return adsm_cl.clSetKernelArg(l->entry->kernel, l->index++, arg->size, NULL);
	default:
		return adsm_cl.clSetKernelArg(l->entry->kernel, l->index++, arg->size, arg->data);
	}
}

static int arg_failed(struct launch *l, size_t i, cl_int error)
{
	const struct adsm_launch_arg *arg = &l->asked->args[i];

	switch (error) {
	case CL_MISALIGNED_SUB_BUFFER_OFFSET:
		return adsm_fail(-EINVAL, "kernel '%s', argument %zu: the pointer is %zu bytes into its object; for "
				 "kernels that adsmcc did not compile, %s supports only multiples of %zu",
				 l->asked->name, i, arg->offset, l->device->base.base.name,
				 l->device->sub_buffer_align);
	case CL_INVALID_ARG_SIZE:
		if (arg->kind == ADSM_LAUNCH_POINTER)
			return adsm_fail(-EINVAL, "kernel '%s', argument %zu: the parameter is not a pointer",
					 l->asked->name, i);
		return adsm_fail(-EINVAL, "kernel '%s', argument %zu: the value has %zu bytes, but the parameter has "
				 "another size", l->asked->name, i, arg->size);
	case CL_INVALID_ARG_VALUE:
	case CL_INVALID_ARG_INDEX:
	case CL_INVALID_MEM_OBJECT:
	case CL_INVALID_SAMPLER:
		return adsm_fail(-EINVAL, "kernel '%s', argument %zu: the argument has another kind than the parameter "
				 "(%s)", l->asked->name, i, adsm_cl_error_name(error));
	default:
		return adsm_cl_error(l->device, error, "setting a kernel's argument");
	}
}

static int set_args(struct launch *l)
{
	const struct adsm_cl_memory_kind *kind = l->device->memory_kind;
	uint64_t changed;

	for (size_t i = 0; i < l->asked->n_args; i++) {
		cl_int error = set_arg(l, &l->asked->args[i]);

		if (error)
			return arg_failed(l, i, error);
	}
	changed = atomic_load(&l->device->memories_changed);
	if (kind->set_reachable && l->entry->kernel && l->entry->reachable_at != changed) {
		cl_int error = kind->set_reachable(l->device, l->entry->kernel);

		if (error)
			return adsm_cl_error(l->device, error, "setting the memory that a kernel may access");
		l->entry->reachable_at = changed;
	}
	return 0;
}

/* ---- enqueueing */

/* Unified memory is mapped for the CPU, except while a kernel runs. What could not be mapped after a kernel is mapped
 * after the next one. */
static cl_int unmap(struct launch *l, cl_command_queue queue)
{
	cl_int error = CL_SUCCESS;

	for (size_t i = 0; i < l->n_memories && !error; i++) {
		struct adsm_cl_memory *memory = l->memories[i];

		if (memory->mapped)
			error = adsm_cl.clEnqueueUnmapMemObject(queue, memory->buffer, memory->pointer, 0, NULL, NULL);
		if (!error)
			memory->mapped = false;
	}
	return error;
}

/* @ret_event: NULL, or the event of the last command; then nothing is mapped. */
static cl_int map(struct launch *l, cl_command_queue queue, cl_event *ret_event)
{
	cl_int error = CL_SUCCESS;

	for (size_t i = 0; i < l->n_memories && !error; i++) {
		struct adsm_cl_memory *memory = l->memories[i];

		if (memory->mapped)
			continue;	/* it could not be unmapped */
		adsm_cl.clEnqueueMapBuffer(queue, memory->buffer, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 0,
					   memory->base.size, 0, NULL, i + 1 == l->n_memories ? ret_event : NULL,
					   &error);
		memory->mapped = !error;
	}
	return error;
}

/* An enqueueing that waits for a deferred operation, and for its turn. */
struct in_turn {
	struct launch *l;
	cl_command_queue queue;
	const struct adsm_cl_deferred *deferred;	/* NULL: none */
	cl_event *ret_event;
};

/* @turn: an event to wait for; NULL: none. */
static cl_int enqueue_in_turn(void *arg, cl_event turn)
{
	const struct in_turn *in_turn = arg;
	const struct launch *l = in_turn->l;
	size_t global[3], local[3];
	cl_event waits[2];
	cl_uint n = 0;

	for (int i = 0; i < 3; i++) {
		local[i] = l->asked->block[i];
		global[i] = local[i] * l->asked->grid[i];
	}
	if (turn)
		waits[n++] = turn;
	if (in_turn->deferred)
		waits[n++] = in_turn->deferred->event;
	return l->entry->kernel ?
		adsm_cl.clEnqueueNDRangeKernel(in_turn->queue, l->entry->kernel, 3, NULL, global, local, n,
					       n ? waits : NULL, in_turn->ret_event) :
		adsm_cl.clEnqueueMarkerWithWaitList(in_turn->queue, n, n ? waits : NULL, in_turn->ret_event);
}

static cl_int enqueue_kernel(struct launch *l, cl_command_queue queue, cl_event *ret_event)
{
	/* Before the turn: the lock of turns is taken last, and the device may be lost in here. */
	struct adsm_cl_deferred *deferred = adsm_cl_deferred_use(l->device);
	struct in_turn in_turn = { l, queue, deferred, ret_event };
	cl_int error = CL_DEVICE_NOT_AVAILABLE;		/* a deferred operation failed */

	if (!adsm_driven_is_lost(&l->device->base))
		error = l->once ? adsm_cl_once_in_turn(l->once, enqueue_in_turn, &in_turn) :
			enqueue_in_turn(&in_turn, NULL);
	adsm_cl_deferred_used(l->device, deferred, false);
	return error;
}

static cl_int enqueue(struct launch *l, struct adsm_cl_queue *queue, cl_event *ret_event)
{
	bool maps = l->device->base.base.caps.unified && l->n_memories;
	cl_event kernel;
	cl_int error;

	if (!l->entry->kernel || !maps)
		return enqueue_kernel(l, queue->cl, ret_event);
	error = unmap(l, queue->cl);
	if (!error)
		error = enqueue_kernel(l, queue->cl, &kernel);
	if (error) {
		map(l, queue->cl, NULL);
		return error;
	}
	/* The kernel runs. If the memory cannot be mapped, its own event tells the end. */
	if (map(l, queue->cl, ret_event))
		*ret_event = kernel;
	else
		queue->timed = kernel;
	return CL_SUCCESS;
}

/* Set the arguments, and enqueue. The kernel has one set of arguments for all lanes. */
static int launch(struct launch *l, struct adsm_cl_queue *queue, cl_event *ret_event, cl_int *ret_error)
{
	struct adsm_cl_device *device = l->device;
	int ret;

	adsm_lock(&device->launch_lock);
	ret = set_args(l);
	adsm_cl_behind_forget(device, NULL);
	if (!ret)
		*ret_error = enqueue(l, queue, ret_event);
	if (!ret && !*ret_error)
		queue->once = l->once;
	if (!ret && !*ret_error)
		adsm_cl_read_behind(queue, l->asked, atomic_load(&queue->base.submitted) + 1);
	/* The command keeps the buffers that it needs. */
	for (size_t i = 0; i < l->n_made; i++)
		adsm_cl.clReleaseMemObject(l->made[i]);
	adsm_unlock(&device->launch_lock);
	return ret;
}

/* The launch was not enqueued. */
static void abandon(struct adsm_cl_once_launch *once)
{
	ADSM_SIGNALS_BLOCKED;

	adsm_cl_once_end(once, 0, false);
}

static int launch_in_lane(struct launch *l, struct adsm_device_event *ret_event)
{
	struct adsm_cl_device *device = l->device;
	const struct adsm_launch *asked = l->asked;
	struct adsm_device_event event = { .queue = adsm_driven_lane(&device->base.base, asked) };
	struct adsm_cl_queue *queue = &device->queues[event.queue];
	struct adsm_sigset old;
	cl_event command = NULL;
	/* The kernel's own limit may be lower, or higher than drivers report: enqueueing checks it. */
	int ret = adsm_driven_check(&device->base, asked, "an OpenCL", device->base.max_threads);
	cl_int error = CL_SUCCESS;

	if (!ret)
		ret = adsm_driven_status(&device->base.base);
	if (!ret)
		ret = adsm_cl_once_begin(device, asked, &l->once);
	if (ret)
		return ret;
	if (adsm_cl_queue_begin(queue, &old)) {
		abandon(l->once);
		return adsm_driven_status(&device->base.base);
	}
	ret = queue->cl ? 0 : adsm_cl_queue_create(queue);
	if (!ret)
		ret = launch(l, queue, &command, &error);
	if (ret) {
		adsm_cl_queue_abandon(queue, &old);
		abandon(l->once);
		return ret;
	}
	if (error)
		abandon(l->once);
	ret = adsm_cl_queue_end(queue, &old, error, command, "a launch", &event.seq);
	if (ret == -ENODEV)
		return adsm_driven_status(&device->base.base);
	if (error == CL_INVALID_WORK_GROUP_SIZE && adsm_driven_threads(asked) > l->entry->base.max_threads)
		return adsm_driven_too_large(&device->base, asked, l->entry->base.max_threads);
	if (ret)
		return adsm_fail(ret, "kernel '%s' could not be launched on %s: %s", asked->name,
				 device->base.base.name, adsm_cl_error_name(error));
	return adsm_driven_launched(&device->base.base, event, ret_event);
}

int adsm_cl_launch(struct adsm_entry *base, const struct adsm_launch *asked, struct adsm_device_event *ret_event)
{
	struct launch l = {
		.device = (struct adsm_cl_device *)base->code->device,
		.asked = asked,
		.entry = (struct adsm_cl_entry *)base,
	};
	int ret = make_room(&l);

	if (!ret)
		ret = launch_in_lane(&l, ret_event);
	free(l.room);
	return ret;
}
