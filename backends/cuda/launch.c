/* SPDX-License-Identifier: MIT */
/* launch.c - the arguments of a kernel, the memory of its constants, and its launch. */
#include "launch.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "queue.h"
#include "variable.h"

#define CONST_ALIGN ((size_t)256)	/* the least alignment of memory that the driver returns */

/* What one launch needs until it is enqueued. */
struct launch {
	struct adsm_cuda_device *device;
	const struct adsm_launch *asked;
	struct adsm_cuda_entry *entry;
	size_t n_params, shared, const_size;
	uint64_t *addresses;		/* of parameters; both arrays are in few or room */
	void **params;
	struct adsm_cuda_constants *constants;	/* NULL: there are none */
	uint64_t few[2 * ADSM_DRIVEN_ARGS];
	uint64_t *room;			/* NULL: few is large enough */
};

_Static_assert(sizeof(void *) == sizeof(uint64_t), "an array has both");

/* ---- constants: copied through pinned memory, so that no thread waits, into memory that only this launch uses */

struct adsm_cuda_constants {
	struct adsm_cuda_constants *next;	/* in the list of the code */
	CUdeviceptr address;
	char *staging;
	bool registered;
	size_t size;
	const struct adsm_cuda_queue *queue;	/* of the last launch that used this memory, and its number there */
	uint64_t seq;
};

/* Call this in the device's context. */
static void free_constants(struct adsm_cuda_constants *constants)
{
	if (constants->registered)
		adsm_cu.cuMemHostUnregister(constants->staging);
	if (constants->address)
		adsm_cu.cuMemFree_v2(constants->address);
	free(constants->staging);
	free(constants);
}

/* Call this in the device's context. */
static CUresult create_constants(size_t size, struct adsm_cuda_constants **ret_constants)
{
	struct adsm_cuda_constants *constants = calloc(1, sizeof(*constants));
	CUresult error;

	if (!constants)
		return CUDA_ERROR_OUT_OF_MEMORY;
	constants->size = ADSM_PAGE_SIZE;
	while (constants->size < size)
		constants->size *= 2;
	constants->staging = aligned_alloc(ADSM_PAGE_SIZE, constants->size);
	error = constants->staging ? adsm_cu.cuMemAlloc_v2(&constants->address, constants->size) :
		CUDA_ERROR_OUT_OF_MEMORY;
	if (error) {
		constants->address = 0;
		free_constants(constants);
		return error;
	}
	/* If the memory cannot be pinned, copies wait; nothing else differs. */
	constants->registered = !adsm_cu.cuMemHostRegister_v2(constants->staging, constants->size,
							      CU_MEMHOSTREGISTER_PORTABLE);
	*ret_constants = constants;
	return CUDA_SUCCESS;
}

/* Can the next launch of @queue have this memory? A launch of that queue which failed has no number yet. */
static bool is_free(const struct adsm_cuda_constants *constants, const struct adsm_cuda_queue *queue)
{
	return constants->seq <= atomic_load(&constants->queue->base.done) ||
		(constants->queue == queue && constants->seq > atomic_load(&queue->base.submitted));
}

/* Get memory that no launch uses any more, or new memory, for the next launch of @queue, whose lock is held. Lanes take
 * from one list. */
static CUresult take_constants(struct launch *l, const struct adsm_cuda_queue *queue)
{
	struct adsm_cuda_code *code = (struct adsm_cuda_code *)l->entry->base.base.code;
	struct adsm_cuda_constants *constants;
	CUresult error = CUDA_SUCCESS;

	adsm_lock(&l->device->constants_lock);
	for (constants = code->constants; constants; constants = constants->next)
		if (is_free(constants, queue) && constants->size >= l->const_size)
			break;
	if (!constants) {
		error = create_constants(l->const_size, &constants);
		if (!error) {
			constants->next = code->constants;
			code->constants = constants;
		}
	}
	if (!error) {
		constants->queue = queue;
		constants->seq = atomic_load(&queue->base.submitted) + 1;
		l->constants = constants;
	}
	adsm_unlock(&l->device->constants_lock);
	return error;
}

static size_t const_room(size_t size)
{
	return (size + CONST_ALIGN - 1) & ~(CONST_ALIGN - 1);
}

static CUresult send_constants(struct launch *l, struct adsm_cuda_queue *queue)
{
	CUresult error = take_constants(l, queue);
	size_t at = 0, param = 0;

	if (error)
		return error;
	for (size_t i = 0; i < l->asked->n_args; i++) {
		const struct adsm_launch_arg *arg = &l->asked->args[i];

		if (arg->kind == ADSM_LAUNCH_CONST) {
			memcpy(l->constants->staging + at, arg->data, arg->size);
			l->addresses[param] = l->constants->address + at;
			at += const_room(arg->size);
		}
		param += arg->kind != ADSM_LAUNCH_LOCAL;
	}
	return adsm_cu.cuMemcpyHtoDAsync_v2(l->constants->address, l->constants->staging, at, queue->stream);
}

void adsm_cuda_constants_destroy(struct adsm_cuda_code *code)
{
	struct adsm_cuda_constants *next;
	struct adsm_cuda_scope scope;

	if (!code->constants)
		return;
	/* If the context no longer exists, the driver's functions fail, and only host memory is freed. */
	adsm_cuda_enter((struct adsm_cuda_device *)code->base.base.device, &scope);
	for (struct adsm_cuda_constants *constants = code->constants; constants; constants = next) {
		next = constants->next;
		free_constants(constants);
	}
	adsm_cuda_leave(&scope);
	code->constants = NULL;
}

/* ---- arguments */

static int make_room(struct launch *l)
{
	const size_t n = l->asked->n_args;

	l->room = n > ADSM_DRIVEN_ARGS ? malloc(2 * n * sizeof(*l->room)) : NULL;
	if (n > ADSM_DRIVEN_ARGS && !l->room)
		return adsm_fail(-ENOMEM, "kernel '%s': no memory for %zu arguments", l->asked->name, n);
	l->addresses = l->room ? l->room : l->few;
	l->params = (void **)(l->addresses + (l->room ? n : ADSM_DRIVEN_ARGS));
	return 0;
}

static int bind(struct launch *l)
{
	/* The module's variables are not parameters: variable.c. */
	const size_t n = l->asked->n_args - (l->entry->kernel ? l->entry->kernel->n_variables : 0);
	size_t n_locals = 0;
	int ret = make_room(l);

	if (ret)
		return ret;
	for (size_t i = 0; i < n; i++) {
		const struct adsm_launch_arg *arg = &l->asked->args[i];
		struct adsm_memory *memory = arg->memory;
		size_t param = l->n_params;

		if (arg->kind == ADSM_LAUNCH_LOCAL) {
			l->shared = arg->size;
			if (n_locals++)
				return adsm_fail(-EINVAL, "kernel '%s', argument %zu: CUDA supports only one argument "
						 "of adsmLocal()", l->asked->name, i);
			if (arg->size > INT_MAX)
				return adsm_fail(-EINVAL, "kernel '%s', argument %zu: %zu bytes of adsmLocal() are "
						 "more than CUDA supports", l->asked->name, i, arg->size);
			continue;
		}
		l->params[param] = &l->addresses[param];
		l->n_params++;
		if (arg->kind == ADSM_LAUNCH_POINTER)
			l->addresses[param] = arg->offset + (memory ? memory->address : 0);
		else if (arg->kind == ADSM_LAUNCH_CONST)
			l->const_size += const_room(arg->size);
		else
			l->params[param] = (void *)(uintptr_t)arg->data;
	}
	return 0;
}

/* Check that the arguments match the kernel's parameters. The driver copies the size of each parameter, and checks
 * nothing. Call this in the device's context. */
static int check_params(const struct launch *l)
{
	size_t param = 0, offset, size;

	for (size_t i = 0; i < l->asked->n_args; i++) {
		const struct adsm_launch_arg *arg = &l->asked->args[i];
		bool is_value = arg->kind == ADSM_LAUNCH_VALUE;

		if (arg->kind == ADSM_LAUNCH_LOCAL)
			continue;
		if (adsm_cu.cuFuncGetParamInfo(l->entry->function, param++, &offset, &size))
			return adsm_fail(-EINVAL, "kernel '%s', argument %zu: the kernel has only %zu parameters",
					 l->asked->name, i, param - 1);
		if (is_value && arg->size != size)
			return adsm_fail(-EINVAL, "kernel '%s', argument %zu: the value has %zu bytes, but the "
					 "parameter has %zu", l->asked->name, i, arg->size, size);
		if (!is_value && size != sizeof(CUdeviceptr))
			return adsm_fail(-EINVAL, "kernel '%s', argument %zu: the parameter is not a pointer, but has "
					 "%zu bytes", l->asked->name, i, size);
	}
	if (!adsm_cu.cuFuncGetParamInfo(l->entry->function, param, &offset, &size))
		return adsm_fail(-EINVAL, "kernel '%s': %zu arguments are too few; adsmLocal() does not count as one "
				 "of them", l->asked->name, param);
	return 0;
}

static int check_native(const struct launch *l)
{
	struct adsm_cuda_scope scope;
	CUresult error;
	int ret;

	if (l->entry->base.dialect || !l->entry->function || !adsm_cu.cuFuncGetParamInfo)
		return 0;
	error = adsm_cuda_enter(l->device, &scope);
	if (error)
		return adsm_cuda_error(l->device, error, "querying a kernel's parameters");
	ret = check_params(l);
	adsm_cuda_leave(&scope);
	return ret;
}

/* ---- enqueueing */

/* By default a block gets 48 KiB, less the shared memory that the kernel declares. */
static CUresult ask_for_shared(const struct launch *l)
{
	const int most = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
	CUfunction function = l->entry->function;
	int now = 0;
	CUresult error = adsm_cu.cuFuncGetAttribute(&now, most, function);

	return error || l->shared <= (size_t)now ? error : adsm_cu.cuFuncSetAttribute(function, most, (int)l->shared);
}

static CUresult enqueue(struct launch *l, struct adsm_cuda_queue *queue)
{
	const bool copies = l->entry->kernel && l->entry->kernel->n_variables;
	const struct adsm_launch *asked = l->asked;
	CUresult error = CUDA_SUCCESS;
	bool begun = false;

	if (!l->entry->function)
		return CUDA_SUCCESS;
	if (l->const_size)
		error = send_constants(l, queue);
	if (!error && l->shared)
		error = ask_for_shared(l);
	if (!error && copies) {
		begun = true;
		error = adsm_cuda_variables_copy(l->entry, asked, true, queue->stream);
	}
	if (!error)
		error = adsm_cu.cuLaunchKernel(l->entry->function, asked->grid[0], asked->grid[1], asked->grid[2],
					       asked->block[0], asked->block[1], asked->block[2], (unsigned)l->shared,
					       queue->stream, l->params, NULL);
	if (!error && copies)
		error = adsm_cuda_variables_copy(l->entry, asked, false, queue->stream);
	/* Copies of variables, or the kernel itself, may run already. A launch that fails has no number to wait for. */
	if (error && begun)
		adsm_cu.cuStreamSynchronize(queue->stream);
	return error;
}

/* The driver refused the launch; @ret: the queue's error. */
static int refused(const struct launch *l, CUresult error, int ret)
{
	const char *name = l->asked->name, *device = l->device->base.base.name;

	if (error == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
		return adsm_fail(-EINVAL, "kernel '%s': %lu threads in a block need more registers than %s has",
				 name, (unsigned long)adsm_driven_threads(l->asked), device);
	if (error == CUDA_ERROR_INVALID_VALUE && l->shared)
		return adsm_fail(-EINVAL, "kernel '%s': %zu bytes of adsmLocal() are more shared memory than %s has",
				 name, l->shared, device);
	return adsm_fail(ret, "kernel '%s' could not be launched on %s: %s", name, device, adsm_cu_error_name(error));
}

/* Launch what is bound. Returns 0 with the number of the launch. */
static int submit(struct launch *l, uint64_t *ret_seq)
{
	struct adsm_cuda_device *device = l->device;
	struct adsm_cuda_queue *queue = &device->queues[adsm_driven_lane(&device->base.base, l->asked)];
	struct adsm_cuda_scope scope;
	CUresult error;
	int ret = adsm_cuda_queue_begin(queue, l->entry->function, &scope);

	if (ret)
		return ret == -ENODEV ? adsm_driven_status(&device->base.base) : ret;
	adsm_cuda_queue_name(queue, l->asked->name);
	error = enqueue(l, queue);
	ret = adsm_cuda_queue_end(queue, &scope, error, "a launch", ret_seq);
	if (ret == -ENODEV)
		return adsm_driven_status(&device->base.base);
	return ret && error ? refused(l, error, ret) : ret;
}

int adsm_cuda_launch(struct adsm_entry *base, const struct adsm_launch *asked, struct adsm_device_event *ret_event)
{
	struct adsm_cuda_device *device = (struct adsm_cuda_device *)base->code->device;
	struct adsm_device_event event = { .queue = adsm_driven_lane(&device->base.base, asked) };
	struct launch l;
	size_t own, most = device->base.max_threads;
	int ret;

	/* The arrays of parameters are not initialized. */
	memset(&l, 0, offsetof(struct launch, few));
	l.room = NULL;
	l.device = device;
	l.asked = asked;
	l.entry = (struct adsm_cuda_entry *)base;
	own = l.entry->base.max_threads;
	ret = adsm_driven_check(&device->base, asked, "a CUDA", own < most ? own : most);
	if (!ret)
		ret = adsm_driven_status(&device->base.base);
	if (!ret)
		ret = bind(&l);
	if (!ret)
		ret = check_native(&l);
	if (!ret)
		ret = submit(&l, &event.seq);
	free(l.room);
	return ret ? ret : adsm_driven_launched(&device->base.base, event, ret_event);
}
