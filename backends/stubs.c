/* SPDX-License-Identifier: MIT */
/* stubs.c - slots for what a backend does not have. */
#include "stubs.h"

#include "base/log.h"

#include <errno.h>

static int no_driver(const struct adsm_device *device)
{
	return adsm_fail(-ENOTSUP, "the backend '%s' has no driver that the program could share",
			 device->backend->name);
}

static int native(struct adsm_device *device, struct adsm_native *ret_native)
{
	return no_driver(device);
}

static int native_memory(struct adsm_memory *memory, void **ret_handle)
{
	return no_driver(memory->device);
}

static int kernel_adopt(struct adsm_device *device, void *kernel, struct adsm_code **ret_code)
{
	return no_driver(device);
}

static int use_context(void *context, void *device)
{
	return adsm_fail(-ENOTSUP, "this backend has no driver that the program could share");
}

void adsm_no_end(struct adsm_device *device, const char *why, bool wait)
{
}

int adsm_no_memory_adopt(struct adsm_device *device, uint64_t address, size_t size, uint64_t wanted,
			 struct adsm_memory **ret_memory)
{
	return adsm_fail(-ENOTSUP, "%s does not support memory that the program allocated", device->name);
}

int adsm_no_queue_follow(struct adsm_device *device, void *queue)
{
	return adsm_fail(-ENOTSUP, "%s does not support queues of the program", device->name);
}

int adsm_no_queue_join(struct adsm_device *device, void *const *queues, size_t n, struct adsm_device_event *ret_event)
{
	return adsm_no_queue_follow(device, NULL);
}

int adsm_no_module_names(struct adsm_code *code, char **ret_names)
{
	return adsm_fail(-ENOTSUP, "%s supports only kernels of modules that adsmcc wrote", code->device->name);
}

int adsm_no_kernel_params(struct adsm_entry *entry, struct adsm_param *ret_params, size_t max)
{
	return adsm_no_module_names(entry->code, NULL);
}

static int of_launch(struct adsm_device *device, struct adsm_device_event event, uint64_t *ret_values,
		     uint64_t *ret_start_ns)
{
	return -EINVAL;
}

static int of_part(struct adsm_device *device, struct adsm_device_event event, unsigned i,
		   struct adsm_part_times *ret_times)
{
	return -EINVAL;
}

static int of_wait(struct adsm_device *device, struct adsm_device_event event, unsigned i,
		   struct adsm_part_wait *ret_wait)
{
	return -EINVAL;
}

static int of_moves(struct adsm_device *device, struct adsm_device_event event, unsigned i,
		    struct adsm_part_moves *ret_moves)
{
	return -EINVAL;
}

static bool part_name(struct adsm_device *device, unsigned i, char ret_name[ADSM_PART_NAME])
{
	return false;
}

static void advise(struct adsm_device *device, const char *kernel, const struct adsm_kernel_costs *costs,
		   char *ret_text, size_t size)
{
	*ret_text = '\0';
}

static const struct adsm_cost nothing;

const struct adsm_cost_ops adsm_no_costs = {
	.counters = &nothing,
	.of_launch = of_launch,
	.of_part = of_part,
	.of_wait = of_wait,
	.of_moves = of_moves,
	.part_name = part_name,
	.advise = advise,
};

static int no_once(struct adsm_device *device)
{
	return adsm_fail(-ENOTSUP, "%s: the backend '%s' does not support write-once objects in its memory and kernels",
			 device->name, device->backend->name);
}

static int once_start(struct adsm_device *device, int index, int table_fd, size_t size)
{
	return no_once(device);
}

static int once_memory(struct adsm_device *device, size_t size, int *ret_fd)
{
	return no_once(device);
}

static void once_memory_free(struct adsm_device *device, size_t size)
{
}

static int once_map(struct adsm_device *device, uint64_t address, size_t size, int fd, size_t offset)
{
	return no_once(device);
}

static int once_add(struct adsm_device *device, const struct adsm_once_map *map)
{
	return no_once(device);
}

static void once_remove(struct adsm_device *device, uint64_t address, size_t size)
{
}

static bool once_has_thread(struct adsm_device *device, int thread)
{
	return false;
}

const struct adsm_once_ops adsm_no_once = {
	.start = once_start,
	.memory = once_memory,
	.memory_free = once_memory_free,
	.map = once_map,
	.add = once_add,
	.remove = once_remove,
	.has_thread = once_has_thread,
};

const char *adsm_no_event_failure(struct adsm_device *device, struct adsm_device_event event)
{
	return NULL;
}

const struct adsm_driver_ops adsm_no_driver = {
	.end = adsm_no_end,
	.native = native,
	.native_memory = native_memory,
	.kernel_adopt = kernel_adopt,
	.use_context = use_context,
	.memory_adopt = adsm_no_memory_adopt,
	.queue_follow = adsm_no_queue_follow,
	.queue_join = adsm_no_queue_join,
};
