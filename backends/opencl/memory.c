/* SPDX-License-Identifier: MIT */
/* memory.c - memory of a device, and copies. */
#include "memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "behind.h"
#include "base/log.h"
#include "queue.h"
#include "memory_kinds.h"

#define DEFERRED_MAX ((size_t)64 << 10)	/* bytes of a write that is copied and deferred */

/* ---- memory */

uint64_t adsm_cl_memory_free(struct adsm_device *base)
{
	return base->caps.memory_size - atomic_load(&((struct adsm_cl_device *)base)->memory_used);
}

/* Freed memory is kept, up to ADSM_KEEP bytes, for objects of the same size: new memory takes long to allocate, and
 * long to write for the first time. */
static struct adsm_cl_memory *reuse(struct adsm_cl_device *device, size_t size)
{
	struct adsm_cl_memory **at = &device->kept, *memory;

	adsm_lock(&device->memories_lock);
	while (*at && (*at)->base.size != size)
		at = &(*at)->next;
	memory = *at;
	if (memory) {
		*at = memory->next;
		device->kept_size -= size;
	}
	adsm_unlock(&device->memories_lock);
	return memory;
}

static bool keep(struct adsm_cl_device *device, struct adsm_cl_memory *memory)
{
	bool kept;

	/* The program may still use a buffer that it got. */
	if (memory->given || device->base.base.caps.unified || adsm_driven_is_lost(&device->base))
		return false;
	adsm_lock(&device->memories_lock);
	kept = memory->base.size <= device->keep && device->kept_size <= device->keep - memory->base.size;
	if (kept) {
		memory->next = device->kept;
		device->kept = memory;
		device->kept_size += memory->base.size;
	}
	adsm_unlock(&device->memories_lock);
	return kept;
}

static void release_list(struct adsm_cl_device *device, struct adsm_cl_memory *memory)
{
	struct adsm_cl_memory *next;

	for (; memory; memory = next) {
		next = memory->next;
		device->memory_kind->free(device, memory);
		free(memory);
	}
}

void adsm_cl_release_kept(struct adsm_cl_device *device)
{
	struct adsm_cl_memory *memory;

	adsm_lock(&device->memories_lock);
	memory = device->kept;
	device->kept = NULL;
	device->kept_size = 0;
	adsm_unlock(&device->memories_lock);
	release_list(device, memory);
}

/*
 * Free memory that calls no longer use, as far as the library knows. Kernels of a lost device may still run. The driver
 * keeps buffers for them. It does not keep memory that kernels have by its address, so this memory stays until the
 * device closes. The pages of unified memory are the arena's, and become another object's: wait for the kernels.
 */
static void release(struct adsm_cl_device *device, struct adsm_cl_memory *memory)
{
	const bool unified = device->base.base.caps.unified, lost = adsm_driven_is_lost(&device->base);

	memory->next = NULL;
	for (unsigned i = 0; i < ADSM_DRIVEN_QUEUES && lost && unified; i++)
		adsm_cl_queue_finish(&device->queues[i]);
	if (!lost || !memory->base.address || unified) {
		release_list(device, memory);
		return;
	}
	adsm_lock(&device->memories_lock);
	memory->next = device->left;
	device->left = memory;
	adsm_unlock(&device->memories_lock);
}

void adsm_cl_release_left(struct adsm_cl_device *device)
{
	release_list(device, device->left);
	device->left = NULL;
	release_list(device, device->nothing);
	device->nothing = NULL;
}

static void link_memory(struct adsm_cl_device *device, struct adsm_cl_memory *memory)
{
	adsm_lock(&device->memories_lock);
	memory->next = device->memories;
	memory->at = &device->memories;
	if (memory->next)
		memory->next->at = &memory->next;
	device->memories = memory;
	device->memories_changed++;
	adsm_unlock(&device->memories_lock);
}

static void unlink_memory(struct adsm_cl_device *device, struct adsm_cl_memory *memory)
{
	adsm_lock(&device->memories_lock);
	*memory->at = memory->next;
	if (memory->next)
		memory->next->at = memory->at;
	device->memories_changed++;
	adsm_unlock(&device->memories_lock);
}

/* Free kept memory before an allocation. Many drivers report a lack of memory only when the new memory is first
 * used. */
static void make_room(struct adsm_cl_device *device)
{
	bool full;

	adsm_lock(&device->memories_lock);
	device->memory_kind_fixed = true;
	full = atomic_load(&device->memory_used) + device->kept_size > device->base.base.caps.memory_size;
	adsm_unlock(&device->memories_lock);
	if (full)
		adsm_cl_release_kept(device);
}

static int create(struct adsm_cl_device *device, size_t size, uint64_t wanted, struct adsm_cl_memory **ret_memory)
{
	struct adsm_cl_memory *memory = calloc(1, sizeof(*memory));
	struct adsm_error_kept before;
	int ret;

	if (!memory)
		return -ENOMEM;
	adsm_error_keep(&before);
	memory->base.device = &device->base.base;
	memory->base.size = size;
	if (device->base.base.caps.unified)
		memory->pointer = (char *)device->alias_base + (wanted - device->arena_base);
	ret = device->memory_kind->alloc(device, memory);
	if (ret == -ENOMEM) {
		adsm_cl_release_kept(device);
		ret = device->memory_kind->alloc(device, memory);
		if (!ret)
			adsm_error_back(&before);
	}
	if (ret)
		free(memory);
	else
		*ret_memory = memory;
	return ret;
}

int adsm_cl_alloc(struct adsm_device *base, size_t size, uint64_t wanted, struct adsm_memory **ret_memory)
{
	struct adsm_cl_device *device = (struct adsm_cl_device *)base;
	struct adsm_cl_memory *memory;
	struct adsm_sigset old;
	int ret;

	if (adsm_driven_is_lost(&device->base))
		return adsm_driven_status(base);
	ret = adsm_cl_reserve(device, size);
	if (ret)
		return ret;
	adsm_os_signals_block(&old);
	memory = reuse(device, size);
	if (!memory)
		make_room(device);
	if (!memory)
		ret = create(device, size, wanted, &memory);
	if (!ret)
		link_memory(device, memory);
	adsm_os_signals_restore(&old);
	if (ret)
		adsm_cl_unreserve(device, size);
	else
		*ret_memory = &memory->base;
	return ret;
}

void adsm_cl_free(struct adsm_memory *base)
{
	struct adsm_cl_memory *memory = (struct adsm_cl_memory *)base;
	struct adsm_cl_device *device;
	ADSM_SIGNALS_BLOCKED;

	if (!base)
		return;
	device = (struct adsm_cl_device *)base->device;
	adsm_cl_unreserve(device, base->size);
	adsm_cl_settle_deferred(device);
	adsm_cl_behind_settle(device, memory);
	/* A launch that is being made may have the memory in its list of what the kernel may reach. */
	adsm_lock(&device->launch_lock);
	unlink_memory(device, memory);
	adsm_unlock(&device->launch_lock);
	if (!keep(device, memory))
		release(device, memory);
}

int adsm_cl_native_memory(struct adsm_memory *base, void **ret_handle)
{
	struct adsm_cl_memory *memory = (struct adsm_cl_memory *)base;
	ADSM_SIGNALS_BLOCKED;
	int ret;

	/* Buffers of unified memory are mapped: only the library's commands may use them. */
	if (!memory->buffer || base->device->caps.unified)
		return adsm_fail(-ENOTSUP, "objects on %s are not separate buffers: set ADSM_OPENCL_MEMORY=buffer, or "
				 "leave it unset and call adsmOpenCLGet() before the first allocation",
				 base->device->name);
	memory->given = true;
	ret = adsm_cl_settle_deferred((struct adsm_cl_device *)base->device);
	adsm_cl_behind_forget((struct adsm_cl_device *)base->device, memory);
	if (ret)
		return adsm_fail(ret, "%s: earlier writes to objects may have failed",
				 base->device->name);
	*ret_handle = memory->buffer;
	return 0;
}

/* ---- copies */

/* @wait: return when the bytes have moved. Copies and fills must still be waited for, by their event. */
static cl_int enqueue(struct adsm_cl_queue *queue, const struct adsm_driven_operation *o, bool wait,
		      cl_event *ret_event)
{
	struct adsm_cl_memory *dst = (struct adsm_cl_memory *)o->dst, *src = (struct adsm_cl_memory *)o->src;
	const struct adsm_cl_memory_kind *kind = queue->device->memory_kind;

	switch (o->kind) {
	case ADSM_DRIVEN_WRITE:
		return kind->write(queue, dst, o->dst_offset, o->from, o->size, wait, ret_event);
	case ADSM_DRIVEN_READ:
		return kind->read(queue, o->to, src, o->src_offset, o->size, wait, ret_event);
	case ADSM_DRIVEN_COPY:
		return kind->copy(queue, dst, o->dst_offset, src, o->src_offset, o->size, ret_event);
	default:
		return kind->fill(queue, dst, o->dst_offset, o->value, o->size, ret_event);
	}
}

/*
 * Small writes and fills are deferred: they return immediately. Waiting for one takes longer than the operation itself,
 * and a launch that needs it can wait on the device. The bytes of a write are copied first. Deferred operations are in
 * the queue of copies to the device, in order with its other operations. Launches wait for the latest one, and so do
 * threads that read or free memory.
 *
 * If one fails, no caller can get the error, so the device is lost. A common failure of first writes is that the driver
 * has not enough memory: so first writes are not deferred.
 */

static struct adsm_cl_deferred *youngest(struct adsm_cl_device *device)
{
	return &device->deferred[(device->next_deferred + ADSM_CL_DEFERRED - 1) % ADSM_CL_DEFERRED];
}

/* Release the entries of operations that have ended, except the latest one while it must still be waited for. The lock
 * is held. */
static void reap(struct adsm_cl_device *device)
{
	for (int i = 0; i < ADSM_CL_DEFERRED; i++) {
		struct adsm_cl_deferred *deferred = &device->deferred[i];
		cl_int status = CL_QUEUED;

		if (!deferred->event)
			continue;
		adsm_cl.clGetEventInfo(deferred->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
				       NULL);
		if (status < 0)
			adsm_cl_lose(device, status, "a deferred write");
		if (status > CL_COMPLETE || deferred->n_users ||
		    (atomic_load(&device->defers) && deferred == youngest(device)))
			continue;
		adsm_cl.clReleaseEvent(deferred->event);
		deferred->event = NULL;
	}
}

struct adsm_cl_deferred *adsm_cl_deferred_use(struct adsm_cl_device *device)
{
	struct adsm_cl_deferred *deferred = NULL;

	if (!atomic_load(&device->defers))
		return NULL;
	adsm_lock(&device->deferred_lock);
	reap(device);
	if (atomic_load(&device->defers))
		deferred = youngest(device);
	if (deferred)
		deferred->n_users++;
	adsm_unlock(&device->deferred_lock);
	return deferred;
}

void adsm_cl_deferred_used(struct adsm_cl_device *device, struct adsm_cl_deferred *deferred, bool ended)
{
	if (!deferred)
		return;
	adsm_lock(&device->deferred_lock);
	deferred->n_users--;
	if (ended && deferred == youngest(device))
		atomic_store(&device->defers, false);
	reap(device);
	adsm_unlock(&device->deferred_lock);
}

int adsm_cl_settle_deferred(struct adsm_cl_device *device)
{
	struct adsm_cl_deferred *deferred = adsm_driven_is_lost(&device->base) ? NULL : adsm_cl_deferred_use(device);
	cl_int error = deferred ? adsm_cl.clWaitForEvents(1, &deferred->event) : CL_SUCCESS;

	adsm_cl_deferred_used(device, deferred, !error);
	return adsm_driven_is_lost(&device->base) ? -ENODEV : adsm_cl_moved(device, error, "a wait");
}

bool adsm_cl_deferred_end(struct adsm_cl_device *device)
{
	bool quiet = true;

	atomic_store(&device->defers, false);
	reap(device);
	for (int i = 0; i < ADSM_CL_DEFERRED; i++) {
		struct adsm_cl_deferred *deferred = &device->deferred[i];

		if (!deferred->event)
			free(deferred->bytes);
		else
			adsm_cl.clReleaseEvent(deferred->event);
		quiet &= !deferred->event;
	}
	return quiet;
}

/* Not after copies that take long: a thread that waits for the operation would wait for them, too. */
static bool may_defer(struct adsm_cl_queue *queue, const struct adsm_driven_operation *o)
{
	struct adsm_cl_memory *dst = (struct adsm_cl_memory *)o->dst;

	return (o->kind == ADSM_DRIVEN_FILL || (o->kind == ADSM_DRIVEN_WRITE && o->size <= DEFERRED_MAX)) &&
		atomic_load(&dst->used) && !atomic_load(&dst->given) && !queue->device->base.base.caps.unified &&
		atomic_load(&queue->base.submitted) == atomic_load(&queue->base.done);
}

/* Returns 0; 1 if the caller must wait for the operation instead; or a negative errno. Signals are blocked. */
static int defer(struct adsm_cl_queue *queue, const struct adsm_driven_operation *o)
{
	struct adsm_cl_device *device = queue->device;
	struct adsm_driven_operation later = *o;
	struct adsm_cl_deferred *deferred;
	cl_int error = CL_SUCCESS;
	bool room;

	adsm_lock(&device->deferred_lock);
	deferred = &device->deferred[device->next_deferred];
	if (deferred->event)
		reap(device);
	if (o->kind == ADSM_DRIVEN_WRITE && !deferred->bytes)
		deferred->bytes = malloc(DEFERRED_MAX);
	room = !deferred->event && (o->kind == ADSM_DRIVEN_FILL || deferred->bytes);
	if (room && o->kind == ADSM_DRIVEN_WRITE)
		later.from = memcpy(deferred->bytes, o->from, o->size);
	if (room)
		error = enqueue(queue, &later, false, &deferred->event);
	if (error) {
		deferred->event = NULL;
	} else if (room) {
		device->next_deferred = (device->next_deferred + 1) % ADSM_CL_DEFERRED;
		atomic_store(&device->defers, true);
		adsm_cl.clFlush(queue->cl);
	}
	adsm_unlock(&device->deferred_lock);
	return room ? adsm_cl_moved(device, error, adsm_driven_operation_name(o)) : 1;
}

/* Signals are blocked. */
static int run_now(struct adsm_cl_queue *queue, const struct adsm_driven_operation *o)
{
	bool waits = o->kind == ADSM_DRIVEN_WRITE || o->kind == ADSM_DRIVEN_READ;
	cl_event event = NULL;
	cl_int error = enqueue(queue, o, waits, waits ? NULL : &event);

	if (!waits)
		error = adsm_cl_settle(queue, error, event);
	return adsm_cl_moved(queue->device, error, adsm_driven_operation_name(o));
}

/* Copy overlapping ranges through a temporary buffer. Signals are blocked. */
static int copy_overlapping(struct adsm_cl_queue *queue, const struct adsm_driven_operation *o)
{
	struct adsm_cl_device *device = queue->device;
	struct adsm_cl_memory between = { .base = { .device = &device->base.base, .size = o->size } };
	struct adsm_driven_operation out = *o, back = *o;
	int ret = device->memory_kind->alloc(device, &between);

	if (ret)
		return ret;
	out.dst = back.src = &between.base;
	out.dst_offset = back.src_offset = 0;
	ret = run_now(queue, &out);
	if (!ret)
		ret = run_now(queue, &back);
	device->memory_kind->free(device, &between);
	return ret;
}

static bool overlaps(const struct adsm_cl_device *device, const struct adsm_driven_operation *o)
{
	/* Unified memory is copied by memmove(). */
	return adsm_driven_overlaps(o) && !device->base.base.caps.unified;
}

/* Signals are blocked. */
static int run_synchronous(struct adsm_cl_queue *queue, const struct adsm_driven_operation *o)
{
	struct adsm_cl_memory *dst = (struct adsm_cl_memory *)o->dst, *src = (struct adsm_cl_memory *)o->src;
	int ret;

	if (o->kind == ADSM_DRIVEN_READ) {
		ret = adsm_cl_settle_deferred(queue->device);
		if (ret)
			return ret;
		if (adsm_cl_behind_take(queue->device, src, o->src_offset, o->size, o->to))
			return 0;
	} else if (may_defer(queue, o)) {
		ret = defer(queue, o);
		if (ret <= 0)
			return ret;
	}
	ret = overlaps(queue->device, o) ? copy_overlapping(queue, o) : run_now(queue, o);
	if (!ret && dst)
		atomic_store(&dst->used, true);
	return ret;
}

int adsm_cl_run(struct adsm_device *base, const struct adsm_driven_operation *o, struct adsm_device_event *ret_event)
{
	struct adsm_cl_device *device = (struct adsm_cl_device *)base;
	uint32_t number = o->kind == ADSM_DRIVEN_READ ? ADSM_QUEUE_TO_HOST : ADSM_QUEUE_TO_DEVICE;
	struct adsm_cl_queue *queue = &device->queues[number];
	struct adsm_device_event event = { .queue = number };
	struct adsm_sigset old;
	cl_event command = NULL;
	cl_int error;
	int ret;

	if (adsm_driven_is_lost(&device->base))
		return -ENODEV;
	adsm_os_signals_block(&old);
	if (o->dst)
		adsm_cl_behind_forget(device, (struct adsm_cl_memory *)o->dst);
	if (!ret_event)
		ret = run_synchronous(queue, o);
	adsm_os_signals_restore(&old);
	if (!ret_event)
		return ret;
	if (overlaps(device, o))
		return -ENOTSUP;
	ret = adsm_cl_queue_begin(queue, &old);
	if (ret)
		return ret;
	ret = o->kind == ADSM_DRIVEN_READ ? adsm_cl_settle_deferred(device) : 0;
	if (ret) {
		adsm_cl_queue_abandon(queue, &old);
		return ret;
	}
	error = enqueue(queue, o, false, &command);
	ret = adsm_cl_queue_end(queue, &old, error, command, adsm_driven_operation_name(o), &event.seq);
	if (!ret)
		*ret_event = event;
	return ret;
}
