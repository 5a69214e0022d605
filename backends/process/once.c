/* SPDX-License-Identifier: MIT */
/* process/once.c - see once.h. */
#include "once.h"

#include "base/descriptors.h"
#include "base/log.h"
#include "process.h"

#include <errno.h>

static int once_start(struct adsm_device *device, int index, int table_fd, size_t size)
{
	struct adsm_process_request request = { .op = ADSM_PROCESS_ONCE_TABLE, .index = (uint32_t)index, .size = size };
	struct adsm_process_reply reply;

	return adsm_process_ask((struct adsm_process_device *)device, &request, &table_fd, 1, &reply);
}

static int once_memory(struct adsm_device *base, size_t size, int *ret_fd)
{
	struct adsm_process_device *device = (struct adsm_process_device *)base;
	struct adsm_process_room *room = &device->shared->room;
	char name[32];
	int ret;

	ret = adsm_process_status(base);
	if (ret)
		return ret;
	if (!adsm_process_take(room, size))
		return adsm_fail(-ENOMEM, "%s is full: %zu bytes asked for, %lu of %lu free", device->title, size,
				 (unsigned long)adsm_process_left(room), (unsigned long)base->caps.memory_size);
	adsm_format(name, sizeof(name), "adsm-once-%s", base->name);
	ret = adsm_fd_memory(name, size, ret_fd);
	if (ret)
		adsm_process_give(room, size);
	return ret;
}

static void once_memory_free(struct adsm_device *device, size_t size)
{
	adsm_process_give(&((struct adsm_process_device *)device)->shared->room, size);
}

static int once_map(struct adsm_device *base, uint64_t address, size_t size, int fd, size_t offset)
{
	struct adsm_process_device *device = (struct adsm_process_device *)base;
	struct adsm_process_request request = { .op = ADSM_PROCESS_ONCE_MAP, .base = address, .size = size,
						.extra = offset };
	struct adsm_process_reply reply;

	return adsm_process_ask(device, &request, &fd, 1, &reply);
}

static int once_add(struct adsm_device *base, const struct adsm_once_map *map)
{
	struct adsm_process_device *device = (struct adsm_process_device *)base;
	struct adsm_process_request request = { .op = ADSM_PROCESS_ONCE_ADD, .base = map->address, .size = map->size,
						.extra = map->flags_size, .unit = map->unit, .count = map->count };
	struct adsm_process_reply reply;

	/* As a whole, before its parts are mapped: messages about accesses name the object. */
	adsm_live_add(&device->live, map->address - device->arena_base, map->size);
	return adsm_process_ask(device, &request, &map->flags_fd, 1, &reply);
}

static void once_remove(struct adsm_device *base, uint64_t address, size_t size)
{
	struct adsm_process_device *device = (struct adsm_process_device *)base;
	struct adsm_process_request request = { .op = ADSM_PROCESS_ONCE_REMOVE, .base = address, .size = size };
	struct adsm_process_reply reply;

	/* A lost device has nothing mapped any more. */
	if (!atomic_load(&device->lost))
		adsm_process_ask(device, &request, NULL, 0, &reply);
	adsm_mutex_lock(&device->live_lock);
	adsm_live_remove(&device->live, address - device->arena_base, size);
	adsm_mutex_unlock(&device->live_lock);
}

static bool once_has_thread(struct adsm_device *device, int thread)
{
	return false;
}

const struct adsm_once_ops adsm_process_once = {
	.start = once_start,
	.memory = once_memory,
	.memory_free = once_memory_free,
	.map = once_map,
	.add = once_add,
	.remove = once_remove,
	.has_thread = once_has_thread,
};
