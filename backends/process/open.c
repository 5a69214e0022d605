/* SPDX-License-Identifier: MIT */
/* open.c - opens and closes a device process, its memory and its copy queues. */
#include "open.h"

#include "shadow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *adsm_process_new(size_t size)
{
	void *device = aligned_alloc(_Alignof(struct adsm_process_device), size);

	return device ? memset(device, 0, size) : NULL;
}

static void destroy(struct adsm_process_device *device)
{
	if (!device->base.caps.unified)
		adsm_process_memory_destroy(device);
	adsm_mutex_destroy(&device->request_lock);
	adsm_mutex_destroy(&device->launch_lock);
	adsm_mutex_destroy(&device->live_lock);
	free(device);
}

static void written(void *arg, const void *dst, size_t size)
{
	struct adsm_process_device *device = arg;

	device->kind->written(device, (size_t)((const uint8_t *)dst - device->memory), size);
}

int adsm_process_open(struct adsm_process_device *device, const struct adsm_backend_config *config,
		      struct adsm_device **ret_device)
{
	int memory_fd = config->arena_fd, ret;

	device->arena_base = config->arena_base;
	device->arena_size = config->arena_size;
	device->memory = config->alias_base;
	device->when_lost = config->lost;
	device->serve = config->serve;
	device->output = config->output;
	ret = device->base.caps.unified ? 0 : adsm_process_memory_create(device, &memory_fd);
	if (ret) {
		free(device);
		return ret;
	}
	adsm_mutex_init(&device->request_lock, ADSM_RANK_REQUEST);
	adsm_mutex_init(&device->launch_lock, ADSM_RANK_QUEUE);
	adsm_mutex_init(&device->live_lock, ADSM_RANK_QUEUE);
	for (int i = 0; i < 2; i++)
		adsm_lock_init(&device->copies[i].lock, ADSM_RANK_QUEUE);
	device->copies[0].written = device->kind->written ? written : NULL;
	device->copies[0].arg = device;
	ret = adsm_process_start(device, memory_fd);
	/* From here on the mapping is enough. */
	if (!device->base.caps.unified)
		close(memory_fd);
	if (ret)
		destroy(device);
	else
		*ret_device = &device->base;
	return ret;
}

void adsm_process_close(struct adsm_device *base)
{
	struct adsm_process_device *device = (struct adsm_process_device *)base;

	if (!device || !adsm_process_stop(device))
		return;
	if (adsm_process_shadow_stop(device))
		adsm_process_unmap(device);
	for (int i = 0; i < 2; i++)
		adsm_process_copy_finish(&device->copies[i]);
	destroy(device);
}
