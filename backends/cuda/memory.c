/* SPDX-License-Identifier: MIT */
/* memory.c - memory of a device, and copies. */
#include "memory.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "pin.h"
#include "queue.h"

/* ---- memory */

static uint64_t unused(struct adsm_cuda_device *device)
{
	uint64_t total = device->base.base.caps.memory_size, used = atomic_load(&device->memory_used);

	return used < total ? total - used : 0;
}

/* The free memory according to the driver, because other processes use it, too. If the driver does not answer: the
 * memory that this library has not allocated. */
uint64_t adsm_cuda_memory_free(struct adsm_device *base)
{
	struct adsm_cuda_device *device = (struct adsm_cuda_device *)base;
	uint64_t most = unused(device);
	struct adsm_cuda_scope scope;
	size_t left = 0, total;

	if (adsm_driven_is_lost(&device->base) || adsm_cuda_enter(device, &scope))
		return most;
	if (adsm_cu.cuMemGetInfo_v2(&left, &total))
		left = most;
	adsm_cuda_leave(&scope);
	return left < most ? left : most;
}

static int is_full(struct adsm_cuda_device *device, size_t size)
{
	return adsm_fail(-ENOMEM, "%s is full: %zu bytes asked for, %lu of %lu free", device->base.base.name, size,
			 (unsigned long)adsm_cuda_memory_free(&device->base.base),
			 (unsigned long)device->base.base.caps.memory_size);
}

static struct adsm_cuda_mem *create(struct adsm_cuda_device *device, size_t size, uint64_t wanted)
{
	struct adsm_cuda_mem *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return NULL;
	memory->base.device = &device->base.base;
	memory->base.size = size;
	if (wanted)
		memory->alias = device->alias_base + (wanted - device->arena_base);
	return memory;
}

int adsm_cuda_alloc(struct adsm_device *base, size_t size, uint64_t wanted, struct adsm_memory **ret_memory)
{
	struct adsm_cuda_device *device = (struct adsm_cuda_device *)base;
	struct adsm_cuda_mem *memory;
	struct adsm_cuda_scope scope;
	CUresult error;

	if (adsm_driven_is_lost(&device->base))
		return adsm_driven_status(base);
	if (size > unused(device))
		return is_full(device, size);
	memory = create(device, size, wanted);
	if (!memory)
		return -ENOMEM;
	error = adsm_cuda_enter(device, &scope);
	if (!error)
		error = device->memory_kind->alloc(device, memory, wanted);
	adsm_cuda_leave(&scope);
	if (error) {
		free(memory);
		return error == CUDA_ERROR_OUT_OF_MEMORY ? is_full(device, size) :
			adsm_cuda_error(device, error, "an allocation");
	}
	atomic_fetch_add(&device->memory_used, size);
	*ret_memory = &memory->base;
	return 0;
}

int adsm_cuda_memory_adopt(struct adsm_device *base, uint64_t address, size_t size, uint64_t wanted,
			   struct adsm_memory **ret_memory)
{
	struct adsm_cuda_mem *memory = create((struct adsm_cuda_device *)base, size, wanted);

	if (!memory)
		return -ENOMEM;
	memory->base.address = address;
	memory->adopted = true;
	*ret_memory = &memory->base;
	return 0;
}

void adsm_cuda_free(struct adsm_memory *base)
{
	struct adsm_cuda_mem *memory = (struct adsm_cuda_mem *)base;
	struct adsm_cuda_device *device;
	struct adsm_cuda_scope scope;
	CUresult error;

	if (!base)
		return;
	device = (struct adsm_cuda_device *)base->device;
	/* Unpin first: the object's pages are freed after this. */
	adsm_cuda_errno(device, adsm_cuda_unpin(device, memory), "unpinning an object's pages");
	if (!memory->adopted) {
		error = adsm_cuda_enter(device, &scope);
		if (!error)
			device->memory_kind->free(device, memory);
		adsm_cuda_leave(&scope);
		adsm_cuda_errno(device, error, "freeing an object");
		atomic_fetch_sub(&device->memory_used, base->size);
	}
	free(memory);
}

int adsm_cuda_native_memory(struct adsm_memory *base, void **ret_handle)
{
	*ret_handle = (void *)(uintptr_t)base->address;
	return 0;
}

/* ---- copies */

/* Where an operation begins in memory. */
static CUdeviceptr address_of(const struct adsm_memory *memory, size_t offset)
{
	return memory ? memory->address + offset : 0;
}

static CUresult enqueue(const void *arg, CUstream stream)
{
	const struct adsm_driven_operation *o = arg;
	CUdeviceptr dst = address_of(o->dst, o->dst_offset), src = address_of(o->src, o->src_offset);

	switch (o->kind) {
	case ADSM_DRIVEN_WRITE:
		return adsm_cu.cuMemcpyHtoDAsync_v2(dst, o->from, o->size, stream);
	case ADSM_DRIVEN_READ:
		return adsm_cu.cuMemcpyDtoHAsync_v2(o->to, src, o->size, stream);
	case ADSM_DRIVEN_COPY:
		return adsm_cu.cuMemcpyDtoDAsync_v2(dst, src, o->size, stream);
	default:
		return adsm_cu.cuMemsetD8Async(dst, o->value, o->size, stream);
	}
}

/* Change errors of copies about memory or arguments to -EIO, because the caller cannot correct them. */
static int moved(int error)
{
	return error == -ENOMEM || error == -EINVAL ? -EIO : error;
}

static int run_now(struct adsm_cuda_queue *queue, const struct adsm_driven_operation *o)
{
	return moved(adsm_cuda_queue_now(queue, enqueue, o, adsm_driven_operation_name(o)));
}

/* Copy overlapping ranges through a temporary buffer. */
static int copy_overlapping(struct adsm_cuda_queue *queue, const struct adsm_driven_operation *o)
{
	struct adsm_driven_operation out = *o, back = *o;
	struct adsm_memory between = { .size = o->size };
	struct adsm_cuda_scope scope;
	CUdeviceptr address;
	CUresult error;
	int ret;

	error = adsm_cuda_enter(queue->device, &scope);
	if (!error)
		error = adsm_cu.cuMemAlloc_v2(&address, o->size);
	adsm_cuda_leave(&scope);
	if (error)
		return adsm_cuda_error(queue->device, error, "allocating memory for an overlapping copy");
	between.address = address;
	out.dst = back.src = &between;
	out.dst_offset = back.src_offset = 0;
	ret = run_now(queue, &out);
	if (!ret)
		ret = run_now(queue, &back);
	if (!adsm_cuda_enter(queue->device, &scope))
		adsm_cu.cuMemFree_v2(address);
	adsm_cuda_leave(&scope);
	return ret;
}

/* Is @host in the object's alias? Any other host memory belongs to the program. */
static bool is_alias(const struct adsm_cuda_mem *memory, const char *host)
{
	return host >= memory->alias && host < memory->alias + memory->base.size;
}

int adsm_cuda_run(struct adsm_device *base, const struct adsm_driven_operation *o, struct adsm_device_event *ret_event)
{
	struct adsm_cuda_device *device = (struct adsm_cuda_device *)base;
	uint32_t number = o->kind == ADSM_DRIVEN_READ ? ADSM_QUEUE_TO_HOST : ADSM_QUEUE_TO_DEVICE;
	const char *host = o->kind == ADSM_DRIVEN_READ ? o->to : o->from;	/* NULL: none */
	struct adsm_cuda_mem *memory = (struct adsm_cuda_mem *)(o->kind == ADSM_DRIVEN_READ ? o->src : o->dst);
	struct adsm_cuda_queue *queue = &device->queues[number];
	struct adsm_device_event event = { .queue = number };
	struct adsm_cuda_scope scope;
	int ret;

	if (!ret_event) {
		ret = adsm_driven_overlaps(o) ? copy_overlapping(queue, o) : run_now(queue, o);
	} else if (adsm_driven_overlaps(o)) {
		return -ENOTSUP;
	} else {
		ret = adsm_cuda_queue_begin(queue, false, &scope);
		if (!ret)
			ret = moved(adsm_cuda_queue_end(queue, &scope, enqueue(o, queue->stream),
							adsm_driven_operation_name(o), &event.seq));
		if (!ret)
			*ret_event = event;
	}
	if (!ret && host && is_alias(memory, host))
		adsm_cuda_moved(device, memory, o->size);
	return ret;
}
