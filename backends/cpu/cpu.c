/* SPDX-License-Identifier: MIT */
/* cpu.c - the software accelerator, seen from the application: a process for each device (device.c),
 * which backends/process starts. */
#include "base/log.h"
#include "base/os.h"
#include "base/processor.h"
#include "list.h"
#include "options.h"
#include "process/costs.h"
#include "process/once.h"
#include "process/open.h"
#include "stubs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static unsigned levels(struct adsm_process_device *device)
{
	return adsm_processor_levels();
}

static const struct adsm_process_kind kind = {
	.program = "adsm-cpu-device",
	.folder = "backends/cpu",
	.program_option = "ADSM_CPU_DEVICE",
	.memory_option = "ADSM_CPU_MEMORY_SIZE",
	.levels = levels,
};

static int cpu_probe(void)
{
	int ret = adsm_process_check_program(&kind, adsm_cpu_options.device);

	return ret ? ret : adsm_cpu_options.devices ? (int)adsm_cpu_options.devices : 1;
}

static void describe(struct adsm_process_device *process, int index)
{
	struct adsm_device *device = &process->base;
	unsigned n_devices = adsm_cpu_options.devices ? adsm_cpu_options.devices : 1;

	device->backend = &adsm_backend_cpu;
	device->caps = (struct adsm_device_caps) {
		.given_address = true,
		.own_addresses = true,
		.has_address = true,
		.signal_safe = true,
		.unified = adsm_cpu_options.unified,
		.survives = true,
		.once = true,
		.intervals = true,
		.variables = true,
		.services = true,
		.task_services = true,
		.memory_size = adsm_cpu_options.memory_size,
		.compute_units = adsm_cpu_options.threads ? adsm_cpu_options.threads : adsm_os_n_cpus(),
		.max_pending = ADSM_PROCESS_SLOTS,
		.max_running = ADSM_PROCESS_LANES,
		.max_workers = adsm_backend_options.task_workers,
		.workers_option = "ADSM_TASK_WORKERS",
		.max_arg_bytes = ADSM_PROCESS_MAX_ARG_BYTES,
	};
	if (!device->caps.memory_size)
		device->caps.memory_size = adsm_os_memory_available() / 2 / n_devices;
	adsm_format(device->name, sizeof(device->name), "cpu %d", index);
	strcpy(device->caps.memory, device->caps.unified ? "unified" : "discrete");
	process->kind = &kind;
	adsm_format(process->title, sizeof(process->title), "cpu device %d", index);
	process->program = adsm_cpu_options.device;
	for (int i = 0; i < 2; i++)
		process->copies[i].link = (struct adsm_process_link){ adsm_cpu_options.link.bandwidth,
								      adsm_cpu_options.link.latency_ns };
}

static int cpu_open(int index, const struct adsm_backend_config *config, struct adsm_device **ret_device)
{
	struct adsm_process_device *device = adsm_process_new(sizeof(*device));

	if (!device)
		return -ENOMEM;
	describe(device, index);
	return adsm_process_open(device, config, ret_device);
}

const struct adsm_backend adsm_backend_cpu = {
	.version = ADSM_BACKEND_VERSION,
	.name = "cpu",
	.costs = &adsm_process_costs,
	.once = &adsm_process_once,
	.probe = cpu_probe,
	.open = cpu_open,
	ADSM_PROCESS_OPERATIONS,
};
