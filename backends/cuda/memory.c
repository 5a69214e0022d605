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

/*
 * The free memory according to the driver, because other processes use it, too. If the driver does not answer: the
 * memory that this library has not allocated.
 */
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
		error = device->way->alloc(device, memory, wanted);
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
			device->way->free(device, memory);
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

static bool inside(const struct adsm_memory *memory, size_t offset, size_t size)
{
	return offset <= memory->size && size <= memory->size - offset;
}

/* One operation. Fields that its kind does not need are not set. */
struct operation {
	enum { WRITE, READ, COPY, FILL } kind;
	CUdeviceptr dst, src;
	const void *from;		/* in host memory */
	void *to;
	size_t size;
	uint8_t value;
};

static const char *const what[] = { "a write", "a read", "a copy", "a fill" };

static CUresult enqueue(void *arg, CUstream stream)
{
	const struct operation *o = arg;

	switch (o->kind) {
	case WRITE:
		return adsm_cu.cuMemcpyHtoDAsync_v2(o->dst, o->from, o->size, stream);
	case READ:
		return adsm_cu.cuMemcpyDtoHAsync_v2(o->to, o->src, o->size, stream);
	case COPY:
		return adsm_cu.cuMemcpyDtoDAsync_v2(o->dst, o->src, o->size, stream);
	default:
		return adsm_cu.cuMemsetD8Async(o->dst, o->value, o->size, stream);
	}
}

/* Change errors of copies about memory or arguments to -EIO, because the caller cannot correct them. */
static int moved(int error)
{
	return error == -ENOMEM || error == -EINVAL ? -EIO : error;
}

static int run_now(struct adsm_cuda_queue *queue, struct operation *o)
{
	return moved(adsm_cuda_queue_now(queue, enqueue, o, what[o->kind]));
}

/* Copy overlapping ranges through a temporary buffer. */
static int copy_overlapping(struct adsm_cuda_queue *queue, const struct operation *o)
{
	struct operation out = *o, back = *o;
	struct adsm_cuda_scope scope;
	CUdeviceptr between;
	CUresult error;
	int ret;

	error = adsm_cuda_enter(queue->device, &scope);
	if (!error)
		error = adsm_cu.cuMemAlloc_v2(&between, o->size);
	adsm_cuda_leave(&scope);
	if (error)
		return adsm_cuda_error(queue->device, error, "memory for a copy that overlaps");
	out.dst = back.src = between;
	ret = run_now(queue, &out);
	if (!ret)
		ret = run_now(queue, &back);
	if (!adsm_cuda_enter(queue->device, &scope))
		adsm_cu.cuMemFree_v2(between);
	adsm_cuda_leave(&scope);
	return ret;
}

static bool overlaps(const struct operation *o)
{
	return o->kind == COPY && o->dst < o->src + o->size && o->src < o->dst + o->size;
}

/* Is @host in the object's alias? Any other host memory belongs to the program. */
static bool is_alias(const struct adsm_cuda_mem *memory, const char *host)
{
	return host >= memory->alias && host < memory->alias + memory->base.size;
}

/* @memory: the library's memory that is copied to or from the host; NULL: none. */
static int run(struct adsm_device *base, struct adsm_cuda_mem *memory, struct operation *o,
	       struct adsm_device_event *ret_event)
{
	struct adsm_cuda_device *device = (struct adsm_cuda_device *)base;
	uint32_t number = o->kind == READ ? ADSM_QUEUE_TO_HOST : ADSM_QUEUE_TO_DEVICE;
	struct adsm_cuda_queue *queue = &device->queues[number];
	struct adsm_device_event event = { .queue = number };
	struct adsm_cuda_scope scope;
	int ret;

	if (!ret_event) {
		ret = overlaps(o) ? copy_overlapping(queue, o) : run_now(queue, o);
	} else if (overlaps(o)) {
		return -ENOTSUP;
	} else {
		ret = adsm_cuda_queue_begin(queue, false, &scope);
		if (!ret)
			ret = moved(adsm_cuda_queue_end(queue, &scope, enqueue(o, queue->stream), what[o->kind],
							&event.seq));
		if (!ret)
			*ret_event = event;
	}
	if (!ret && memory && is_alias(memory, o->kind == READ ? o->to : o->from))
		adsm_cuda_moved(device, memory, o->size);
	return ret;
}

int adsm_cuda_to_device(struct adsm_memory *dst, size_t offset, const void *src, size_t size,
			struct adsm_device_event *ret_event)
{
	struct operation o = { .kind = WRITE, .dst = dst->address + offset, .from = src, .size = size };

	if (!src || !size || !inside(dst, offset, size))
		return -EINVAL;
	return run(dst->device, (struct adsm_cuda_mem *)dst, &o, ret_event);
}

int adsm_cuda_to_host(void *dst, struct adsm_memory *src, size_t offset, size_t size,
		      struct adsm_device_event *ret_event)
{
	struct operation o = { .kind = READ, .to = dst, .src = src->address + offset, .size = size };

	if (!dst || !size || !inside(src, offset, size))
		return -EINVAL;
	return run(src->device, (struct adsm_cuda_mem *)src, &o, ret_event);
}

int adsm_cuda_copy(struct adsm_memory *dst, size_t dst_offset, struct adsm_memory *src, size_t src_offset, size_t size,
		   struct adsm_device_event *ret_event)
{
	struct operation o = { .kind = COPY, .dst = dst->address + dst_offset, .src = src->address + src_offset,
			       .size = size };

	if (!size || !inside(dst, dst_offset, size) || !inside(src, src_offset, size))
		return -EINVAL;
	return run(dst->device, NULL, &o, ret_event);
}

int adsm_cuda_fill(struct adsm_memory *dst, size_t offset, uint8_t value, size_t size,
		   struct adsm_device_event *ret_event)
{
	struct operation o = { .kind = FILL, .dst = dst->address + offset, .value = value, .size = size };

	if (!size || !inside(dst, offset, size))
		return -EINVAL;
	return run(dst->device, NULL, &o, ret_event);
}
