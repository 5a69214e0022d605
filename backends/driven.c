/* SPDX-License-Identifier: MIT */
/* driven.c - devices of a vendor's driver: finding them, their loss, their queues, and the limits of launches. */
#include "driven.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

const char *adsm_driven_functions(void *library, const struct adsm_driven_function *functions, size_t n,
				  void *ret_struct)
{
	for (size_t i = 0; i < n; i++) {
		void *function = adsm_os_dlsym(library, functions[i].name);

		if (!function && functions[i].required)
			return functions[i].name;
		memcpy((char *)ret_struct + functions[i].offset, &function, sizeof(function));
	}
	return NULL;
}

/* Like strncasecmp(), which follows the program's locale. */
static bool begins(const char *text, const char *part, size_t length)
{
	size_t n = 0;

	while (n < length && adsm_upper(text[n]) == adsm_upper(part[n]))
		n++;
	return n == length;
}

bool adsm_driven_matches(const char *part, size_t length, const char *text, unsigned index)
{
	char number[16];

	adsm_format(number, sizeof(number), "%u", index);
	if (!length || (strlen(number) == length && !strncmp(part, number, length)))
		return true;
	/* A number is always an index, although many names contain digits. */
	if (strspn(part, "0123456789") >= length)
		return false;
	while (*text && !begins(text, part, length))
		text++;
	return *text;
}

void adsm_driven_lose(struct adsm_driven *device, enum adsm_log_level level, const char *text)
{
	ADSM_SIGNALS_BLOCKED;

	adsm_lock(&device->lost_lock);
	if (!adsm_driven_is_lost(device)) {
		adsm_format(device->lost_text, sizeof(device->lost_text), "%s was lost: %s", device->base.name, text);
		adsm_log(level, "%s", device->lost_text);
		atomic_store(&device->base.lost, device->lost_text);
	}
	adsm_unlock(&device->lost_lock);
	for (int i = 0; i < ADSM_DRIVEN_QUEUES; i++)
		if (device->queues[i])
			adsm_driven_wake(device->queues[i]);
}

int adsm_driven_status(struct adsm_device *device)
{
	const char *lost = atomic_load(&device->lost);

	return lost ? adsm_fail(-ENODEV, "%s", lost) : 0;
}

/* ---- queues */

void adsm_driven_queue_init(struct adsm_driven *device, unsigned number, struct adsm_driven_queue *queue)
{
	queue->device = device;
	adsm_lock_init(&queue->lock, ADSM_RANK_QUEUE);
	device->queues[number] = queue;
}

int adsm_driven_enter(struct adsm_driven_queue *queue)
{
	adsm_lock(&queue->lock);
	while (atomic_load(&queue->submitted) - atomic_load(&queue->done) >= ADSM_DRIVEN_PENDING &&
	       !adsm_driven_is_lost(queue->device)) {
		uint64_t oldest = atomic_load(&queue->submitted) - ADSM_DRIVEN_PENDING + 1;

		adsm_unlock(&queue->lock);
		adsm_driven_wait(queue, oldest);
		adsm_lock(&queue->lock);
	}
	if (!adsm_driven_is_lost(queue->device))
		return 0;
	adsm_unlock(&queue->lock);
	return -ENODEV;
}

int adsm_driven_wait(struct adsm_driven_queue *queue, uint64_t seq)
{
	for (;;) {
		uint32_t tick = atomic_load(&queue->tick);
		int ret = 0;

		if (adsm_driven_is_over(queue, seq))
			return 0;
		atomic_fetch_add(&queue->n_waiting, 1);
		if (!adsm_driven_is_over(queue, seq))
			ret = adsm_os_wait(&queue->tick, tick, 0, false);
		atomic_fetch_sub(&queue->n_waiting, 1);
		if (ret == -EINTR)
			return ret;
	}
}

void adsm_driven_wake(struct adsm_driven_queue *queue)
{
	atomic_fetch_add(&queue->tick, 1);
	if (atomic_load(&queue->n_waiting))
		adsm_os_wake(&queue->tick, INT_MAX, false);
}

struct adsm_driven_queue *adsm_driven_find(struct adsm_device *base, struct adsm_device_event event)
{
	const struct adsm_driven *device = (const struct adsm_driven *)base;

	if (event.queue >= ADSM_DRIVEN_QUEUES || !device->queues[event.queue] || !event.seq ||
	    event.seq > atomic_load(&device->queues[event.queue]->submitted))
		return NULL;
	return device->queues[event.queue];
}

/* ---- events */

/* Does adsm_driven_end_of() still tell of @seq? To be asked after it was read. */
static bool is_kept(const struct adsm_driven_queue *queue, uint64_t seq)
{
	return atomic_load(&queue->submitted) < seq + ADSM_DRIVEN_PENDING;
}

int adsm_driven_event_query(struct adsm_device *base, struct adsm_device_event event, int *ret_status)
{
	struct adsm_driven_queue *queue = adsm_driven_find(base, event);
	bool lost;

	if (!queue)
		return -EINVAL;
	/* Read before the number: operations that were done when the device was lost stay done. */
	lost = adsm_driven_is_lost(queue->device);
	if (atomic_load(&queue->done) >= event.seq) {
		int status = atomic_load(&adsm_driven_end_of(queue, event.seq)->status);

		/* The results of old operations are not kept. Then report a failure rather than miss one. */
		*ret_status = event.seq <= atomic_load(&queue->last_failed) ? atomic_load(&queue->failure) : 0;
		if (is_kept(queue, event.seq))
			*ret_status = status;
		return 1;
	}
	*ret_status = -ENODEV;
	return lost;
}

int adsm_driven_event_wait(struct adsm_device *base, struct adsm_device_event event, int *ret_status)
{
	struct adsm_driven_queue *queue = adsm_driven_find(base, event);
	int ret = queue ? adsm_driven_wait(queue, event.seq) : -EINVAL;

	if (ret)
		return ret;
	adsm_driven_event_query(base, event, ret_status);
	return 0;
}

int adsm_driven_event_times(struct adsm_device *base, struct adsm_device_event event, struct adsm_span *ret_span)
{
	struct adsm_driven_queue *queue = adsm_driven_find(base, event);
	const struct adsm_driven_end *end;
	struct adsm_span span;

	if (!queue || !adsm_driven_is_lane(event.queue) || atomic_load(&queue->done) < event.seq)
		return -EINVAL;
	end = adsm_driven_end_of(queue, event.seq);
	span = (struct adsm_span){ atomic_load(&end->start_ns), atomic_load(&end->ns) };
	if (!is_kept(queue, event.seq))
		return -EINVAL;
	*ret_span = span;
	return 0;
}

/* ---- operations on memory */

const char *adsm_driven_operation_name(const struct adsm_driven_operation *o)
{
	static const char *const names[] = { "a write", "a read", "a copy", "a fill" };

	return names[o->kind];
}

bool adsm_driven_overlaps(const struct adsm_driven_operation *o)
{
	return o->kind == ADSM_DRIVEN_COPY && o->dst == o->src && o->dst_offset < o->src_offset + o->size &&
		o->src_offset < o->dst_offset + o->size;
}

static bool is_within(const struct adsm_memory *memory, size_t offset, size_t size)
{
	return !memory || (offset <= memory->size && size <= memory->size - offset);
}

static int run(struct adsm_device *device, const struct adsm_driven_operation *o, struct adsm_device_event *ret_event)
{
	if (!o->size || !is_within(o->dst, o->dst_offset, o->size) || !is_within(o->src, o->src_offset, o->size))
		return -EINVAL;
	return ((struct adsm_driven *)device)->run(device, o, ret_event);
}

int adsm_driven_to_device(struct adsm_memory *dst, size_t offset, const void *src, size_t size,
			  struct adsm_device_event *ret_event)
{
	const struct adsm_driven_operation o = { .kind = ADSM_DRIVEN_WRITE, .dst = dst, .dst_offset = offset,
						 .from = src, .size = size };

	return src ? run(dst->device, &o, ret_event) : -EINVAL;
}

int adsm_driven_to_host(void *dst, struct adsm_memory *src, size_t offset, size_t size,
			struct adsm_device_event *ret_event)
{
	const struct adsm_driven_operation o = { .kind = ADSM_DRIVEN_READ, .to = dst, .src = src,
						 .src_offset = offset, .size = size };

	return dst ? run(src->device, &o, ret_event) : -EINVAL;
}

int adsm_driven_copy(struct adsm_memory *dst, size_t dst_offset, struct adsm_memory *src, size_t src_offset,
		     size_t size, struct adsm_device_event *ret_event)
{
	const struct adsm_driven_operation o = { .kind = ADSM_DRIVEN_COPY, .dst = dst, .dst_offset = dst_offset,
						 .src = src, .src_offset = src_offset, .size = size };

	return run(dst->device, &o, ret_event);
}

int adsm_driven_fill(struct adsm_memory *dst, size_t offset, uint8_t value, size_t size,
		     struct adsm_device_event *ret_event)
{
	const struct adsm_driven_operation o = { .kind = ADSM_DRIVEN_FILL, .dst = dst, .dst_offset = offset,
						 .value = value, .size = size };

	return run(dst->device, &o, ret_event);
}

/* ---- launches */

uint64_t adsm_driven_threads(const struct adsm_launch *asked)
{
	return (uint64_t)asked->block[0] * asked->block[1] * asked->block[2];
}

int adsm_driven_too_large(const struct adsm_driven *device, const struct adsm_launch *asked, size_t most)
{
	return adsm_fail(-EINVAL, "kernel '%s': a block of %lu threads; on %s the kernel supports at most %zu",
			 asked->name, (unsigned long)adsm_driven_threads(asked), device->base.name, most);
}

int adsm_driven_check(const struct adsm_driven *device, const struct adsm_launch *asked, const char *kind, size_t most)
{
	uint64_t blocks = (uint64_t)asked->grid[0] * asked->grid[1] * asked->grid[2];

	if (asked->first_block || asked->n_blocks != blocks)
		return adsm_fail(-ENOTSUP, "kernel '%s': %s device runs only whole grids", asked->name, kind);
	if (adsm_driven_threads(asked) > most)
		return adsm_driven_too_large(device, asked, most);
	for (int i = 0; i < 3; i++) {
		if (device->max_block[i] && asked->block[i] > device->max_block[i])
			return adsm_fail(-EINVAL,
					 "kernel '%s': a block of %u threads along %c; %s supports at most %zu",
					 asked->name, asked->block[i], 'x' + i, device->base.name,
					 device->max_block[i]);
		if (device->max_grid[i] && asked->grid[i] > device->max_grid[i])
			return adsm_fail(-EINVAL, "kernel '%s': a grid of %u blocks along %c; %s supports at most %zu",
					 asked->name, asked->grid[i], 'x' + i, device->base.name, device->max_grid[i]);
	}
	return 0;
}

int adsm_driven_launched(struct adsm_device *device, struct adsm_device_event event,
			 struct adsm_device_event *ret_event)
{
	int ret, status = 0;

	if (ret_event) {
		*ret_event = event;
		return 0;
	}
	while ((ret = device->backend->event_wait(device, event, &status)) == -EINTR)
		;
	return ret ? ret : status;
}
