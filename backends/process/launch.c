/* SPDX-License-Identifier: MIT */
/* launch.c - launches, through a queue in the memory that both processes map, and the events of all queues. */
#include "launch.h"

#include "adsm.h"
#include "base/log.h"
#include "module.h"

#include <errno.h>
#include <string.h>

#define SPIN_NS 10000			/* how long to spin for the end of a short kernel before sleeping */

/*
 * The queue of an event, and the number there: 0 if the slot of the launch has a later one, because then the launch is
 * over. NULL: no operation has that number.
 */
static struct adsm_process_queue *find_queue(struct adsm_process_device *device, struct adsm_device_event event,
					     uint64_t *ret_seq)
{
	struct adsm_process_slot *slot = &device->shared->slots[(event.seq - 1) % ADSM_PROCESS_SLOTS];
	struct adsm_process_queue *queue;

	*ret_seq = event.seq;
	if (event.queue >= ADSM_N_QUEUES || !event.seq)
		return NULL;
	if (event.queue != ADSM_QUEUE_COMPUTE) {
		queue = &device->copies[event.queue - ADSM_QUEUE_TO_DEVICE].queue;
		return event.seq <= atomic_load(&queue->submitted) ? queue : NULL;
	}
	if (event.seq > atomic_load(&device->launched))
		return NULL;
	queue = adsm_process_lane(device->shared, atomic_load(&slot->lane));
	*ret_seq = atomic_load(&slot->lane_seq);
	/* Check after reading: the slot may have been reused for another launch meanwhile. */
	if (atomic_load(&slot->launch) != event.seq)
		*ret_seq = 0;
	return queue;
}

/* The status of a completed launch. A failure is logged once. */
static int status_of(struct adsm_process_device *device, uint64_t seq)
{
	struct adsm_process_shared *shared = device->shared;
	const uint64_t i = (seq - 1) % ADSM_PROCESS_SLOTS;
	const int status = shared->slots[i].status;

	/* Check after reading, as above. */
	if (!status || atomic_load(&shared->slots[i].launch) != seq)
		return 0;
	if (atomic_exchange(&device->logged[i], seq) != seq)
		adsm_error("%s: %s", device->title, shared->failures[i]);
	return status;
}

/* The limit of mappings of the device's process has ended its check of accesses (device/guard.c). Logged once. */
static void log_open(struct adsm_process_device *device)
{
	if (!atomic_exchange(&device->logged_open, true))
		adsm_warn("%s: kernels' accesses outside of objects are not detected any more: its process has reached "
			  "the limit of mappings (vm.max_map_count)", device->title);
}

int adsm_process_event_query(struct adsm_device *base, struct adsm_device_event event, int *ret_status)
{
	struct adsm_process_device *device = (struct adsm_process_device *)base;
	uint64_t seq;
	struct adsm_process_queue *queue = find_queue(device, event, &seq);
	/* Read before the number: a launch that completed before the device was lost counts as completed. */
	bool lost = event.queue == ADSM_QUEUE_COMPUTE && atomic_load(&device->lost);

	if (!queue)
		return -EINVAL;
	if (atomic_load(&device->live.shared->is_open))
		log_open(device);
	if (atomic_load(&queue->done) >= seq)
		*ret_status = event.queue == ADSM_QUEUE_COMPUTE ? status_of(device, event.seq) : 0;
	else if (lost)
		*ret_status = -ENODEV;
	else
		return 0;
	return 1;
}

int adsm_process_event_wait(struct adsm_device *base, struct adsm_device_event event, int *ret_status)
{
	static const _Atomic uint32_t never;
	struct adsm_process_device *device = (struct adsm_process_device *)base;
	uint64_t seq;
	struct adsm_process_queue *queue = find_queue(device, event, &seq);
	bool compute = event.queue == ADSM_QUEUE_COMPUTE;
	int ret;

	if (!queue)
		return -EINVAL;
	ret = adsm_process_queue_wait(queue, seq, compute ? &device->lost : &never, SPIN_NS, compute);
	if (ret)
		return ret;
	atomic_load(&device->served);
	adsm_process_event_query(base, event, ret_status);
	return 0;
}

int adsm_process_event_times(struct adsm_device *base, struct adsm_device_event event, struct adsm_span *ret_span)
{
	struct adsm_process_device *device = (struct adsm_process_device *)base;
	struct adsm_process_slot *slot = &device->shared->slots[(event.seq - 1) % ADSM_PROCESS_SLOTS];
	uint64_t seq;
	struct adsm_process_queue *queue = find_queue(device, event, &seq);
	struct adsm_span span;

	if (!queue || !seq || event.queue != ADSM_QUEUE_COMPUTE || atomic_load(&queue->done) < seq)
		return -EINVAL;
	span = (struct adsm_span){ slot->start_ns, slot->end_ns - slot->start_ns };
	/* Check after reading, as above. */
	if (atomic_load(&slot->launch) != event.seq)
		return -EINVAL;
	*ret_span = span;
	return 0;
}

const char *adsm_process_event_failure(struct adsm_device *base, struct adsm_device_event event)
{
	struct adsm_process_device *device = (struct adsm_process_device *)base;
	struct adsm_process_shared *shared = device->shared;
	const uint64_t i = (event.seq - 1) % ADSM_PROCESS_SLOTS;
	uint64_t seq;
	struct adsm_process_queue *queue = find_queue(device, event, &seq);
	bool failed;

	if (!queue || !seq || event.queue != ADSM_QUEUE_COMPUTE || atomic_load(&queue->done) < seq)
		return NULL;
	failed = shared->slots[i].status;
	/* Check after reading, as above. */
	return failed && atomic_load(&shared->slots[i].launch) == event.seq ? shared->failures[i] : NULL;
}

/* The bytes of an argument in a slot. Memory of the block is only its size: the kernel allocates it. */
static size_t arg_bytes(const struct adsm_launch_arg *arg)
{
	return arg->kind == ADSM_LAUNCH_POINTER || arg->kind == ADSM_LAUNCH_LOCAL ? sizeof(uint64_t) : arg->size;
}

/* Place the arguments' bytes. Returns their total size, including padding. */
static size_t place_args(const struct adsm_launch *launch, uint32_t *offsets)
{
	size_t end = 0;

	for (size_t i = 0; i < launch->n_args; i++) {
		/* The kernel uses a constant where it is. */
		size_t align = launch->args[i].kind == ADSM_LAUNCH_CONST ? 64 : 16;

		end = (end + align - 1) & ~(align - 1);
		offsets[i] = (uint32_t)end;
		end += arg_bytes(&launch->args[i]);
	}
	return end;
}

static int check_launch(const struct adsm_launch *launch)
{
	uint64_t blocks, bytes = 0;

	if (launch->n_args > ADSM_PROCESS_MAX_ARGS)
		return adsm_fail(-EINVAL, "kernel '%s' has more than %d arguments", launch->name,
				 ADSM_PROCESS_MAX_ARGS);
	for (size_t i = 0; i < launch->n_args; i++) {
		const bool is_value = launch->args[i].kind == ADSM_LAUNCH_VALUE ||
				      launch->args[i].kind == ADSM_LAUNCH_CONST;
		const size_t size = is_value ? launch->args[i].size : 0;

		if (size > ADSM_PROCESS_MAX_ARG_BYTES - bytes)
			return adsm_fail(-EINVAL, "kernel '%s' has more than %zu bytes of values and constants",
					 launch->name, ADSM_PROCESS_MAX_ARG_BYTES);
		bytes += size;
	}
	blocks = (uint64_t)launch->grid[0] * launch->grid[1];
	if (__builtin_mul_overflow(blocks, launch->grid[2], &blocks) || launch->first_block > blocks ||
	    launch->n_blocks > blocks - launch->first_block)
		return adsm_fail(-EINVAL, "kernel '%s': the range of blocks exceeds its grid", launch->name);
	return 0;
}

/* The write-once objects that the launch may set: the call may say of an object that its units are only read. */
static uint32_t sets_of(const struct adsm_launch *launch)
{
	uint32_t sets = 0;

	for (size_t i = 0; i < launch->n_args; i++)
		if (launch->args[i].once && launch->args[i].access != ADSM_ACCESS_IN)
			sets |= UINT32_C(1) << i;
	return sets;
}

/* Describe the launch, except for the arguments' bytes. */
static void describe_launch(struct adsm_process_slot *slot, const struct adsm_process_entry *entry,
			    const struct adsm_launch *launch)
{
	memcpy(slot->name, entry->name, sizeof(slot->name));
	slot->kernel = entry->index;
	slot->n_args = (uint32_t)launch->n_args;
	slot->sets = sets_of(launch);
	memcpy(slot->grid, launch->grid, sizeof(slot->grid));
	memcpy(slot->block, launch->block, sizeof(slot->block));
	slot->first_block = launch->first_block;
	slot->n_blocks = launch->n_blocks;
	slot->arg_bytes = (uint32_t)place_args(launch, slot->arg_offset);
	slot->in_area = slot->arg_bytes > sizeof(slot->args);
	slot->counted = launch->counted;
	slot->traced = launch->traced;
	slot->advised = launch->advised;
	slot->n_pointers = 0;
}

static void copy_args(struct adsm_process_shared *shared, uint64_t i, const struct adsm_launch *launch, bool pointers)
{
	struct adsm_process_slot *slot = &shared->slots[i];
	uint8_t *bytes = slot->in_area ? shared->areas[i] : slot->args;

	for (uint32_t n = 0; n < launch->n_args; n++) {
		const struct adsm_launch_arg *arg = &launch->args[n];

		if (arg->kind == ADSM_LAUNCH_POINTER) {
			uint64_t address = arg->offset + (arg->memory ? arg->memory->address : 0);

			memcpy(bytes + slot->arg_offset[n], &address, sizeof(address));
			if (pointers && arg->memory)
				shared->pointers[i][slot->n_pointers++] = (struct adsm_process_pointer){
					arg->memory->address, arg->memory->size, n, arg->access };
		} else if (arg->kind == ADSM_LAUNCH_LOCAL) {
			const uint64_t size = arg->size;

			memcpy(bytes + slot->arg_offset[n], &size, sizeof(size));
		} else if (arg->size) {
			memcpy(bytes + slot->arg_offset[n], arg->data, arg->size);
		}
	}
}

/* Wait until the slot of the next launch is free, and take the lock. */
static int begin_launch(struct adsm_process_device *device)
{
	for (;;) {
		struct adsm_device_event oldest = { .queue = ADSM_QUEUE_COMPUTE };
		int ret = adsm_process_status(&device->base), status;

		if (ret)
			return ret;
		adsm_mutex_lock(&device->launch_lock);
		oldest.seq = atomic_load(&device->launched) + 1;
		if (oldest.seq <= ADSM_PROCESS_SLOTS)
			return 0;
		oldest.seq -= ADSM_PROCESS_SLOTS;
		if (adsm_process_event_query(&device->base, oldest, &status) == 1)
			return 0;
		adsm_mutex_unlock(&device->launch_lock);
		adsm_process_event_wait(&device->base, oldest, &status);
	}
}

int adsm_process_launch(struct adsm_entry *base, const struct adsm_launch *launch,
			struct adsm_device_event *ret_event)
{
	struct adsm_process_entry *entry = (struct adsm_process_entry *)base;
	struct adsm_process_device *device = (struct adsm_process_device *)base->code->device;
	const uint32_t lane = launch->lane < device->base.caps.max_running ? launch->lane : 0;
	struct adsm_process_queue *queue = adsm_process_lane(device->shared, lane);
	struct adsm_device_event event = { .queue = ADSM_QUEUE_COMPUTE };
	struct adsm_process_slot *slot;
	int ret, status;
	uint64_t seq;

	ret = check_launch(launch);
	if (!ret)
		ret = begin_launch(device);
	if (ret)
		return ret;
	event.seq = atomic_load(&device->launched) + 1;
	seq = atomic_load(&queue->submitted) + 1;
	slot = &device->shared->slots[(event.seq - 1) % ADSM_PROCESS_SLOTS];
	atomic_store(&slot->launch, event.seq);
	atomic_store(&slot->lane, lane);
	atomic_store(&slot->lane_seq, seq);
	describe_launch(slot, entry, launch);
	copy_args(device->shared, (event.seq - 1) % ADSM_PROCESS_SLOTS, launch, device->kind->pointers);
	atomic_store(&device->shared->order[lane][(seq - 1) % ADSM_PROCESS_SLOTS],
		     (uint32_t)((event.seq - 1) % ADSM_PROCESS_SLOTS));
	atomic_store(&device->launched, event.seq);
	adsm_process_queue_submit(queue, true);
	adsm_mutex_unlock(&device->launch_lock);
	if (ret_event) {
		*ret_event = event;
		return 0;
	}
	status = 0;
	while ((ret = adsm_process_event_wait(&device->base, event, &status)) == -EINTR)
		;
	return ret ? ret : status;
}
