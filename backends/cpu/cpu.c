/* SPDX-License-Identifier: MIT */
/*
 * cpu.c - the software accelerator, seen from the application: a process for each device (device.c),
 * whose memory is a file both processes map, the device at the CPU's addresses. Launches go through
 * a queue in shared memory, everything rare through a socket.
 */
#include "base/log.h"
#include "base/os.h"
#include "launch.h"
#include "list.h"
#include "memory.h"
#include "module.h"
#include "options.h"
#include "process.h"
#include "stubs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int cpu_probe(void)
{
	char *program;
	int ret = adsm_cpu_find_program(&program);

	if (!ret)
		free(program);
	return ret ? ret : adsm_cpu_options.devices ? (int)adsm_cpu_options.devices : 1;
}

static void describe(struct adsm_device *device, int index)
{
	unsigned n_devices = adsm_cpu_options.devices ? adsm_cpu_options.devices : 1;

	device->backend = &adsm_backend_cpu;
	device->caps = (struct adsm_device_caps) {
		.given_address = true,
		.has_address = true,
		.signal_safe = true,
		.unified = adsm_cpu_options.unified,
		.survives = true,
		.memory_size = adsm_cpu_options.memory_size,
		.compute_units = adsm_cpu_options.threads ? adsm_cpu_options.threads : adsm_os_n_cpus(),
		.max_pending = ADSM_CPU_SLOTS,
		.max_arg_bytes = ADSM_CPU_MAX_ARG_BYTES,
	};
	if (!device->caps.memory_size)
		device->caps.memory_size = adsm_os_memory_available() / 2 / n_devices;
	adsm_format(device->name, sizeof(device->name), "cpu %d", index);
	strcpy(device->caps.memory, device->caps.unified ? "unified" : "discrete");
}

static void destroy(struct adsm_cpu_device *device)
{
	if (!device->base.caps.unified)
		adsm_cpu_memory_destroy(device);
	adsm_mutex_destroy(&device->request_lock);
	adsm_mutex_destroy(&device->launch_lock);
	free(device);
}

static int cpu_open(int index, const struct adsm_backend_config *config, struct adsm_device **ret_device)
{
	struct adsm_cpu_device *device;
	int memory_fd = config->arena_fd, ret;

	device = aligned_alloc(_Alignof(struct adsm_cpu_device), sizeof(*device));
	if (!device)
		return -ENOMEM;
	memset(device, 0, sizeof(*device));
	describe(&device->base, index);
	device->index = index;
	device->arena_base = config->arena_base;
	device->arena_size = config->arena_size;
	device->memory = config->alias_base;
	ret = device->base.caps.unified ? 0 : adsm_cpu_memory_create(device, &memory_fd);
	if (ret) {
		free(device);
		return ret;
	}
	adsm_mutex_init(&device->request_lock, ADSM_RANK_REQUEST);
	adsm_mutex_init(&device->launch_lock, ADSM_RANK_QUEUE);
	for (int i = 0; i < 2; i++)
		adsm_lock_init(&device->copies[i].lock, ADSM_RANK_QUEUE);
	ret = adsm_cpu_process_start(device, memory_fd);
	/* The mapping is enough from here on. */
	if (!device->base.caps.unified)
		close(memory_fd);
	if (ret)
		destroy(device);
	else
		*ret_device = &device->base;
	return ret;
}

static void cpu_close(struct adsm_device *base)
{
	struct adsm_cpu_device *device = (struct adsm_cpu_device *)base;

	if (!device || !adsm_cpu_process_stop(device))
		return;
	for (int i = 0; i < 2; i++)
		adsm_cpu_copy_finish(&device->copies[i]);
	destroy(device);
}

const struct adsm_backend adsm_backend_cpu = {
	.version = ADSM_BACKEND_VERSION,
	.name = "cpu",
	.driver = &adsm_no_driver,
	.probe = cpu_probe,
	.open = cpu_open,
	.close = cpu_close,
	.alloc = adsm_cpu_alloc,
	.free = adsm_cpu_free,
	.memory_free = adsm_cpu_memory_free,
	.to_device = adsm_cpu_to_device,
	.to_host = adsm_cpu_to_host,
	.copy = adsm_cpu_copy,
	.fill = adsm_cpu_fill,
	.module_load = adsm_cpu_module_load,
	.module_unload = adsm_cpu_module_unload,
	.kernel_get = adsm_cpu_kernel_get,
	.module_names = adsm_no_module_names,
	.kernel_params = adsm_no_kernel_params,
	.launch = adsm_cpu_launch,
	.event_query = adsm_cpu_event_query,
	.event_wait = adsm_cpu_event_wait,
	.event_elapsed = adsm_cpu_event_elapsed,
	.status = adsm_cpu_status,
};
