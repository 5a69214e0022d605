/* SPDX-License-Identifier: MIT */
/* memory.c - memory of a device process, which is a file that both processes map, and copies to, from and in it. */
#include "memory.h"

#include "base/descriptors.h"
#include "base/log.h"

#include <errno.h>
#include <unistd.h>

#define COLD_SIZE ((size_t)16 << 10)	/* bytes of each piece for which the library knows whether it was written */

struct process_memory {
	struct adsm_memory base;
	uint8_t *bytes;			/* in this process's mapping */
	struct process_memory *next;	/* the next unused one */
};

/* alloc() may run in the fault handler, where malloc() must not be called. So these structures come from the system,
 * many at a time, and are used again. */
#define STRUCTURES_SIZE ((size_t)16 << 10)	/* bytes */
static struct adsm_lock structures_lock = ADSM_LOCK_INIT(ADSM_RANK_MEMORIES);
static struct process_memory *unused;

static struct process_memory *new_structure(void)
{
	struct process_memory *memory, *table;
	ADSM_SIGNALS_BLOCKED;

	adsm_lock(&structures_lock);
	table = unused ? NULL : adsm_os_table(STRUCTURES_SIZE);
	for (size_t i = 0; table && i < STRUCTURES_SIZE / sizeof(*table); i++) {
		table[i].next = unused;
		unused = &table[i];
	}
	memory = unused;
	if (memory)
		unused = memory->next;
	adsm_unlock(&structures_lock);
	return memory;
}

static void give_structure(struct process_memory *memory)
{
	ADSM_SIGNALS_BLOCKED;

	adsm_lock(&structures_lock);
	memory->next = unused;
	unused = memory;
	adsm_unlock(&structures_lock);
}

static size_t warm_size(const struct adsm_process_device *device)
{
	return (device->arena_size / COLD_SIZE + ADSM_PAGE_SIZE) & ~(ADSM_PAGE_SIZE - 1);
}

int adsm_process_memory_create(struct adsm_process_device *device, int *ret_fd)
{
	void *p;
	int ret, fd;

	ret = adsm_fd_memory("adsm-device-memory", device->arena_size, &fd);
	if (ret)
		return ret;
	ret = adsm_os_map(NULL, device->arena_size, fd, 0, ADSM_PROT_RW, &p);
	if (ret)
		goto close_fd;
	device->warm = adsm_os_table(warm_size(device));
	ret = device->warm ? 0 : -ENOMEM;
	if (ret)
		goto unmap;
	device->memory = p;
	*ret_fd = fd;
	return 0;

unmap:
	adsm_os_unmap(p, device->arena_size);
close_fd:
	close(fd);
	return ret;
}

void adsm_process_memory_destroy(struct adsm_process_device *device)
{
	adsm_os_unmap(device->warm, warm_size(device));
	adsm_os_unmap(device->memory, device->arena_size);
}

uint64_t adsm_process_memory_free(struct adsm_device *base)
{
	struct adsm_process_device *device = (struct adsm_process_device *)base;

	return adsm_process_left(&device->shared->room);
}

int adsm_process_alloc(struct adsm_device *base, size_t size, uint64_t wanted, struct adsm_memory **ret_memory)
{
	struct adsm_process_device *device = (struct adsm_process_device *)base;
	uint64_t offset = wanted - device->arena_base;
	struct process_memory *memory;

	if (!size || (size | wanted) % ADSM_PAGE_SIZE || offset > device->arena_size ||
	    size > device->arena_size - offset)
		return adsm_fail(-EINVAL, "%s: %zu bytes at %p are not whole pages of the arena", device->title, size,
				 (void *)(uintptr_t)wanted);
	if (adsm_process_status(base))
		return -ENODEV;
	memory = new_structure();
	if (!memory)
		return -ENOMEM;
	if (!adsm_process_take(&device->shared->room, size)) {
		give_structure(memory);
		return adsm_fail(-ENOMEM, "%s is full: %zu bytes asked for, %lu of %lu free", device->title, size,
				 (unsigned long)adsm_process_left(&device->shared->room),
				 (unsigned long)base->caps.memory_size);
	}
	memory->base = (struct adsm_memory) { base, wanted, size };
	memory->bytes = device->memory + offset;
	adsm_live_add(&device->live, offset, size);
	if (device->kind->allocated)
		device->kind->allocated(device, offset, size);
	*ret_memory = &memory->base;
	return 0;
}

void adsm_process_free(struct adsm_memory *base)
{
	struct process_memory *memory = (struct process_memory *)base;
	struct adsm_process_device *device;
	size_t offset;

	if (!base)
		return;
	device = (struct adsm_process_device *)base->device;
	offset = (size_t)(memory->bytes - device->memory);
	adsm_mutex_lock(&device->live_lock);
	adsm_live_remove(&device->live, offset, base->size);
	adsm_mutex_unlock(&device->live_lock);
	/* The pages of unified memory are the arena's: the owner of the range frees them. */
	if (!base->device->caps.unified) {
		/* Atomic, because small neighbours share an entry, and a copy may be reading it. */
		for (size_t i = 0; i < (base->size + COLD_SIZE - 1) / COLD_SIZE; i++)
			__atomic_store_n(&device->warm[offset / COLD_SIZE + i], 0, __ATOMIC_RELAXED);
		adsm_os_discard(memory->bytes, base->size);
	}
	if (device->kind->freed)
		device->kind->freed(device, offset, base->size);
	adsm_process_give(&device->shared->room, base->size);
	give_structure(memory);
}

/* ---- copies. Device memory stays mapped after the process has ended: copies still work on a lost device. */

/* Has this part of device memory never been written yet? Only a hint: the first piece decides for all. */
static bool is_cold(struct adsm_process_device *device, const void *bytes, size_t size)
{
	uint8_t *warm;

	if (!device->warm || size < COLD_SIZE)
		return false;
	warm = device->warm + (size_t)((const uint8_t *)bytes - device->memory) / COLD_SIZE;
	if (__atomic_load_n(warm, __ATOMIC_RELAXED))
		return false;
	for (size_t i = 0; i < size / COLD_SIZE; i++)
		__atomic_store_n(&warm[i], 1, __ATOMIC_RELAXED);
	return true;
}

static int run_copy(struct adsm_device *base, uint32_t direction, struct adsm_process_copy *copy,
		    struct adsm_device_event *ret_event)
{
	struct adsm_process_device *device = (struct adsm_process_device *)base;
	struct adsm_process_copy_queue *queue = &device->copies[direction - ADSM_QUEUE_TO_DEVICE];
	struct adsm_device_event event = { .queue = direction };
	int ret;

	copy->cold = direction == ADSM_QUEUE_TO_DEVICE && is_cold(device, copy->dst, copy->size);
	if (!ret_event) {
		adsm_process_copy_now(queue, copy);
		return 0;
	}
	ret = adsm_process_copy_submit(queue, copy, &event.seq);
	if (!ret)
		*ret_event = event;
	return ret;
}

/* The bytes of a part of device memory; NULL if the part exceeds the memory. */
static uint8_t *part(struct adsm_memory *memory, size_t offset, size_t size)
{
	if (offset > memory->size || size > memory->size - offset)
		return NULL;
	return ((struct process_memory *)memory)->bytes + offset;
}

int adsm_process_to_device(struct adsm_memory *dst, size_t offset, const void *src, size_t size,
			 struct adsm_device_event *ret_event)
{
	struct adsm_process_copy copy = { .dst = part(dst, offset, size), .src = src, .size = size };

	if (!copy.dst || !src)
		return -EINVAL;
	copy.linked = copy.to_device = copy.dst != copy.src;
	return run_copy(dst->device, ADSM_QUEUE_TO_DEVICE, &copy, ret_event);
}

int adsm_process_to_host(void *dst, struct adsm_memory *src, size_t offset, size_t size,
		       struct adsm_device_event *ret_event)
{
	struct adsm_process_copy copy = { .dst = dst, .src = part(src, offset, size), .size = size };

	copy.linked = copy.dst != copy.src;
	return copy.src ? run_copy(src->device, ADSM_QUEUE_TO_HOST, &copy, ret_event) : -EINVAL;
}

int adsm_process_copy(struct adsm_memory *dst, size_t dst_offset, struct adsm_memory *src, size_t src_offset,
		    size_t size, struct adsm_device_event *ret_event)
{
	struct adsm_process_copy copy = { .dst = part(dst, dst_offset, size),
				      .src = part(src, src_offset, size), .size = size };

	return copy.dst && copy.src ?
		run_copy(dst->device, ADSM_QUEUE_TO_DEVICE, &copy, ret_event) : -EINVAL;
}

int adsm_process_fill(struct adsm_memory *dst, size_t offset, uint8_t value, size_t size,
		    struct adsm_device_event *ret_event)
{
	struct adsm_process_copy copy = { .dst = part(dst, offset, size), .size = size, .value = value };

	return copy.dst ? run_copy(dst->device, ADSM_QUEUE_TO_DEVICE, &copy, ret_event) : -EINVAL;
}
