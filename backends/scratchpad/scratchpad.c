/* SPDX-License-Identifier: MIT */
/* scratchpad.c - cores with a local store each, which reach device memory only by transfers, seen from the application.
 * The device process (device/device.c) works like that of the cpu backend, except for what its kernels may access. */
#include "base/log.h"
#include "base/os.h"
#include "costs.h"
#include "store/layout.h"
#include "list.h"
#include "options.h"
#include "process/open.h"
#include "shared.h"
#include "store/options.h"
#include "stubs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define N_NUMBERS 14
#define N_WORDS (1 + N_NUMBERS + 1)	/* of the program's command line: its name, numbers, a file */

struct scratchpad_device {
	struct adsm_process_device process;
	const char *words[N_WORDS + 1];
	char numbers[N_NUMBERS][24];
};

static const struct adsm_process_kind kind = {
	.program = "adsm-scratchpad-device",
	.folder = "backends/scratchpad",
	.program_option = "ADSM_SCRATCHPAD_DEVICE",
	.memory_option = "ADSM_SCRATCHPAD_MEMORY_SIZE",
};

static int scratchpad_probe(void)
{
	int ret = adsm_process_check_program(&kind, adsm_scratchpad_options.device);

	return ret ? ret : 1;
}

static struct adsm_scratchpad_geometry geometry(void)
{
	const struct adsm_scratchpad_options *options = &adsm_scratchpad_options;

	return (struct adsm_scratchpad_geometry) {
		.size = adsm_store_options.size, .code = adsm_store_options.code,
		.sets = (uint32_t)(options->cache[0] >> 32), .ways = (uint32_t)options->cache[0],
		.line = (uint32_t)options->cache[1], .dirty = (uint32_t)options->dirty,
		.prefetch = options->prefetch,
	};
}

/* Write the geometry, and how code is loaded, as arguments of the program. */
static void write_words(struct scratchpad_device *device, const struct adsm_scratchpad_geometry *g)
{
	const struct adsm_scratchpad_options *options = &adsm_scratchpad_options;
	const uint64_t numbers[N_NUMBERS] = {
		g->size, g->code, g->sets, g->ways, g->line, g->dirty, g->prefetch,
		options->buffers, options->policy, options->victim, options->partitions,
		options->registers,
		adsm_store_options.page, adsm_store_options.n_pages,
	};

	device->words[0] = kind.program;
	for (size_t i = 0; i < N_NUMBERS; i++) {
		adsm_format(device->numbers[i], sizeof(device->numbers[i]), "%lu", (unsigned long)numbers[i]);
		device->words[i + 1] = device->numbers[i];
	}
	device->words[1 + N_NUMBERS] = options->notes;
}

static void describe(struct scratchpad_device *device, const struct adsm_scratchpad_geometry *g,
		     const struct adsm_scratchpad_layout *layout)
{
	struct adsm_process_device *process = &device->process;
	struct adsm_device *base = &process->base;

	base->backend = &adsm_backend_scratchpad;
	base->caps = (struct adsm_device_caps) {
		.given_address = true,
		.own_addresses = true,
		.has_address = true,
		.signal_safe = true,
		.survives = true,
		.services = true,
		.task_services = true,
		.memory_size = adsm_scratchpad_options.memory_size,
		.compute_units = adsm_scratchpad_options.cores ? adsm_scratchpad_options.cores : adsm_os_n_cpus(),
		.max_pending = ADSM_PROCESS_SLOTS,
		.max_arg_bytes = ADSM_PROCESS_MAX_ARG_BYTES,
	};
	if (!base->caps.memory_size)
		base->caps.memory_size = adsm_os_memory_available() / 2;
	if (base->caps.compute_units > ADSM_SCRATCHPAD_MAX_CORES)
		base->caps.compute_units = ADSM_SCRATCHPAD_MAX_CORES;
	base->caps.max_workers = base->caps.compute_units;
	base->caps.workers_option = "ADSM_SCRATCHPAD_CORES";
	strcpy(base->name, "scratchpad");
	strcpy(base->caps.memory, "discrete");
	adsm_format(base->made_of, sizeof(base->made_of), "%u core%s with a local store of %lu KiB each: cache of %u "
							  "sets x %u ways x %u B, %s; %lu KiB for code, %lu KiB for "
							  "stack", base->caps.compute_units,
		    base->caps.compute_units == 1 ? "" : "s", g->size >> 10, g->sets, g->ways, g->line,
		    g->prefetch ? "with prefetch" : "without prefetch", layout->code >> 10, layout->stack >> 10);
	strcpy(process->title, "scratchpad");
	process->kind = &kind;
	process->program = adsm_scratchpad_options.device;
	process->argv = (char *const *)device->words;
	process->extra = sizeof(struct adsm_scratchpad_shared);
	write_words(device, g);
}

static int scratchpad_open(int index, const struct adsm_backend_config *config, struct adsm_device **ret_device)
{
	const struct adsm_scratchpad_geometry g = geometry();
	struct adsm_scratchpad_layout layout;
	struct scratchpad_device *device;
	char text[ADSM_PROCESS_TEXT];

	if (!adsm_scratchpad_lay_out(&g, &layout, text, sizeof(text)))
		return adsm_fail(-EINVAL, "scratchpad: %s", text);
	device = adsm_process_new(sizeof(*device));
	if (!device)
		return -ENOMEM;
	describe(device, &g, &layout);
	return adsm_process_open(&device->process, config, ret_device);
}

const struct adsm_backend adsm_backend_scratchpad = {
	.version = ADSM_BACKEND_VERSION,
	.by_name_only = true,
	.name = "scratchpad",
	.costs = &adsm_scratchpad_costs,
	.once = &adsm_no_once,
	.probe = scratchpad_probe,
	.open = scratchpad_open,
	ADSM_PROCESS_OPERATIONS,
};
