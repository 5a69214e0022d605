/* SPDX-License-Identifier: MIT */
/*
 * cluster.c - the cores of several machines as one accelerator, seen from the application. The device process of
 * backends/process is node 0 of an MPI job, which a keeper (keeper/keeper.c) has started. For each page of device
 * memory that the application writes, node 0 gets a bit in shared memory (shared.h).
 */
#include "base/log.h"
#include "base/module.h"
#include "base/os.h"
#include "costs.h"
#include "describe.h"
#include "list.h"
#include "options.h"
#include "process/once.h"
#include "process/open.h"
#include "shared.h"
#include "store/layout.h"
#include "store/options.h"
#include "stubs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Added to ADSM_CLUSTER_TIMEOUT: the keeper needs time to report that nodes are missing. */
#define HELLO_MS 20000
#define KEEPER_MS 4000			/* how long a keeper may take to end all processes: calls fail within 5 s */
#define SHOWN_AFTER_MS 1500		/* a shorter start shows no message */
#define MAX_WORDS 48			/* of the keeper's command line */
#define TOLD_MAX 10			/* maximum number of these warnings */

struct cluster_device {
	struct adsm_process_device process;
	const char *words[MAX_WORDS];
	char numbers[MAX_WORDS][24];
	char arena[64];
	char *node;			/* path of the nodes' program */
};

static struct adsm_cluster_shared *shared_of(const struct adsm_process_device *device)
{
	return (struct adsm_cluster_shared *)device->shared->extra;
}

/* ---- what the application does with device memory, in whole pages */

static void on_allocated(struct adsm_process_device *device, size_t offset, size_t size)
{
	adsm_cluster_allocated(shared_of(device), offset / ADSM_PAGE_SIZE, size / ADSM_PAGE_SIZE);
}

static void on_freed(struct adsm_process_device *device, size_t offset, size_t size)
{
	adsm_cluster_freed(shared_of(device), offset / ADSM_PAGE_SIZE, size / ADSM_PAGE_SIZE);
}

static void on_written(struct adsm_process_device *device, size_t offset, size_t size)
{
	uint64_t first = offset / ADSM_PAGE_SIZE;

	if (size)
		adsm_cluster_touched(shared_of(device), first, (offset + size - 1) / ADSM_PAGE_SIZE - first + 1);
}

/* ---- variables of modules, which nodes do not share */

/* Each node's process has its own copy of a module's variables: only kernels on that node see what a kernel stores
 * there. */
static int check(struct adsm_process_device *device, const void *image, size_t size)
{
	char names[256];

	if (adsm_cluster_options.nodes == 1 || !adsm_module_variables(image, size, names, sizeof(names)))
		return 0;
	return adsm_fail(-ENOTSUP, "cluster: kernels of the module may change its variables (%s), and each of the %u "
			 "nodes would have its own copy: keep this data in an object, declare it const or "
			 "ADSM_PER_NODE, or use one node (ADSM_CLUSTER_NODES=1)", names, adsm_cluster_options.nodes);
}

/* ---- kernels that only node 0 runs */

static void on_found(struct adsm_process_device *device, const char *kernel, bool atomics, bool services)
{
	static char told[TOLD_MAX][ADSM_PROCESS_NAME];
	static unsigned n_told;
	const unsigned nodes = adsm_cluster_options.nodes;

	if ((!atomics && !services) || nodes == 1)
		return;
	/* Warn once, even if the module is loaded again. */
	for (unsigned i = 0; i < n_told; i++) {
		if (!strcmp(told[i], kernel))
			return;
	}
	if (!adsm_may_advise() || n_told == TOLD_MAX)
		return;
	strcpy(told[n_told++], kernel);
	if (atomics)
		adsm_warn("kernel '%s' may do atomics on objects, or rely on the order of accesses to them, so node 0 "
			  "runs it alone while the other nodes (%u) are idle; all nodes run it if it does atomics on "
			  "an ADSM_SHARED array, and another kernel adds up the results (`adsm-info MODULE` lists "
			  "such kernels)", kernel, nodes - 1);
	else
		adsm_warn("kernel '%s' may print, allocate memory or call other services, so node 0 runs it alone "
			  "while the other nodes (%u) are idle", kernel, nodes - 1);
}

/* ---- programs */

/* During a long start, a terminal shows a line, which is erased at the end. */
static void on_waiting(struct adsm_process_device *device, unsigned ms)
{
	static _Atomic bool shown;
	char text[80];
	int n;

	if (ms ? ms < SHOWN_AFTER_MS || adsm_log_level < ADSM_LOG_WARN || !isatty(STDERR_FILENO) : !shown)
		return;
	shown = ms;
	n = adsm_format(text, sizeof(text), ms ? "\r\033[Kadsm: cluster: waiting for %u nodes to start, %u s" :
			"\r\033[K", adsm_cluster_options.nodes, ms / 1000);
	adsm_os_write(STDERR_FILENO, text, (size_t)n);
}

/* What the processors of all nodes have. */
static unsigned levels(struct adsm_process_device *device)
{
	const struct adsm_cluster_shared *shared = shared_of(device);
	unsigned levels = ~0u;

	for (uint32_t i = 0; i < shared->n_nodes; i++)
		levels &= shared->nodes[i].levels;
	return shared->n_nodes ? levels : 0;
}

static const struct adsm_process_kind keeper_kind = {
	.program = "adsm-cluster-keeper",
	.folder = "backends/cluster",
	.program_option = "ADSM_CLUSTER_KEEPER",
	.memory_option = "ADSM_CLUSTER_MEMORY_SIZE",
	.keeper_ms = KEEPER_MS,
	.waiting = on_waiting,
	.pointers = true,
	.levels = levels,
	.check = check,
	.found = on_found,
	.allocated = on_allocated,
	.freed = on_freed,
	.written = on_written,
};

static int find_node(char **ret_path)
{
	static const struct adsm_process_kind node_kind = {
		.program = "adsm-cluster-node",
		.folder = "backends/cluster/node",
		.program_option = "ADSM_CLUSTER_PROGRAM",
	};
#ifdef ADSM_HAVE_MPI
	const bool have_mpi = true;
#else
	const bool have_mpi = false;
#endif
	int ret = adsm_process_find_program(&node_kind, adsm_cluster_options.program, ret_path);

	/* The node program is only built if an MPI was found, and together with the whole library. */
	if (ret && !*adsm_cluster_options.program && have_mpi)
		adsm_fail(ret, "the backend 'cluster' has no node program, because only a part of the library was "
			  "built: build all of it (ninja, or ./dev build), or set ADSM_CLUSTER_PROGRAM");
	else if (ret && !*adsm_cluster_options.program)
		adsm_fail(ret, "the backend 'cluster' has no node program, because the library was built without MPI: "
			  "install an MPI (Debian's libopenmpi-dev) and build the library again in an empty folder, or "
			  "set ADSM_CLUSTER_PROGRAM");
	return ret;
}

static int cluster_probe(void)
{
	char *node;
	int ret = find_node(&node);

	if (ret)
		return ret;
	free(node);
	ret = adsm_process_check_program(&keeper_kind, adsm_cluster_options.keeper);
	return ret ? ret : 1;
}

/* ---- opening */

static void write_words(struct cluster_device *device)
{
	const struct adsm_cluster_options *options = &adsm_cluster_options;
	const struct { const char *name, *text; uint64_t number; } rows[] = {
		{ "--launch", options->launch, 0 }, { "--hosts", options->hosts, 0 }, { "--program", device->node, 0 },
		{ "--arena", device->arena, 0 }, { "--nodes", NULL, options->nodes },
		{ "--timeout", NULL, options->timeout },
		/* From here on: arguments of each node. */
		{ "--", "--threads", 0 },
		{ NULL, NULL, options->threads },
		{ "--timeout", NULL, options->timeout },
		{ "--update", options->update, 0 }, { "--lazy", NULL, options->lazy },
		{ "--exchange", options->exchange, 0 }, { "--tracker", options->tracker, 0 },
		{ "--paper", NULL, adsm_paper },
		{ "--tasks", NULL, options->node == ADSM_CLUSTER_SCRATCHPAD },
		{ "--store", NULL, adsm_store_options.size }, { "--code", NULL, adsm_store_options.code },
		{ "--page", NULL, adsm_store_options.page }, { "--cache", NULL, adsm_store_options.n_pages },
		{ "--locality", NULL, options->locality }, { "--frames", NULL, options->frames },
		{ "--node-page", NULL, options->node_page }, { "--virtual", NULL, options->virtual },
	};
	size_t n = 0;

	device->words[n++] = keeper_kind.program;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].name)
			device->words[n++] = rows[i].name;
		adsm_format(device->numbers[i], sizeof(device->numbers[i]), "%lu", (unsigned long)rows[i].number);
		device->words[n++] = rows[i].text ? rows[i].text : device->numbers[i];
	}
	device->words[n] = NULL;
}

static void describe(struct cluster_device *device, const struct adsm_backend_config *config)
{
	struct adsm_process_device *process = &device->process;
	struct adsm_device *base = &process->base;

	base->backend = &adsm_backend_cluster;
	base->caps = (struct adsm_device_caps) {
		.given_address = true,
		.own_addresses = true,
		.has_address = true,
		.signal_safe = true,
		.survives = true,
		.once = true,
		.once_travels = true,
		.variables = true,
		.services = true,
		.memory_size = adsm_cluster_options.memory_size,
		/* A preliminary value, which node 0 gets, too. describe_nodes() sets the sum of all nodes. */
		.compute_units = adsm_cluster_options.threads ? adsm_cluster_options.threads : adsm_os_n_cpus(),
		.max_pending = ADSM_PROCESS_SLOTS,
		.max_arg_bytes = ADSM_PROCESS_MAX_ARG_BYTES,
	};
	if (!base->caps.memory_size)
		base->caps.memory_size = adsm_os_memory_available() / 2;
	if (adsm_cluster_options.node == ADSM_CLUSTER_SCRATCHPAD)
		base->caps.max_workers = adsm_cluster_options.nodes * ADSM_CLUSTER_NODE_WORKERS;
	base->caps.workers_option = "ADSM_CLUSTER_NODES";
	adsm_format(base->name, sizeof(base->name), "cluster of %u", adsm_cluster_options.nodes);
	strcpy(base->caps.memory, "discrete");
	strcpy(process->title, "cluster");
	adsm_format(device->arena, sizeof(device->arena), "0x%lx:0x%lx", (unsigned long)config->arena_base,
		    (unsigned long)config->arena_size);
	process->kind = &keeper_kind;
	process->program = adsm_cluster_options.keeper;
	process->argv = (char *const *)device->words;
	process->hello_ms = (int)adsm_cluster_options.timeout * 1000 + HELLO_MS;
	process->extra = adsm_cluster_shared_size(config->arena_size);
	write_words(device);
}

/* Describe the device by what the nodes have reported. */
static void describe_nodes(struct adsm_process_device *device)
{
	const struct adsm_cluster_shared *shared = shared_of(device);
	uint32_t threads = 0;
	size_t n;

	adsm_cluster_describe(shared, device->base.made_of, sizeof(device->base.made_of));
	for (uint32_t i = 0; i < shared->n_nodes; i++)
		threads += shared->nodes[i].threads;
	if (threads)
		device->base.caps.compute_units = threads;
	n = strlen(device->base.made_of);
	if (adsm_cluster_options.node == ADSM_CLUSTER_SCRATCHPAD)
		adsm_format(device->base.made_of + n, sizeof(device->base.made_of) - n, "; tasks on cores with a local "
			    "store of %lu KiB, pages of %lu KiB", (unsigned long)(adsm_store_options.size >> 10),
			    (unsigned long)(adsm_store_options.page >> 10));
}

/* Check the options for nodes that run tasks. */
static int check_node(void)
{
	const struct adsm_scratchpad_geometry geometry = {
		.size = adsm_store_options.size, .code = adsm_store_options.code,
	};
	const struct adsm_scratchpad_task task = {
		(uint32_t)adsm_store_options.page, (uint32_t)adsm_store_options.n_pages,
	};
	struct adsm_scratchpad_layout layout;
	char text[ADSM_PROCESS_TEXT];

	if (adsm_cluster_options.node != ADSM_CLUSTER_SCRATCHPAD)
		return 0;
	if (adsm_cluster_options.nodes > ADSM_CLUSTER_TASK_NODES)
		return adsm_fail(-EINVAL, "cluster: ADSM_CLUSTER_NODES=%u: with ADSM_CLUSTER_NODE=scratchpad at most "
				 "%u nodes are possible", adsm_cluster_options.nodes, ADSM_CLUSTER_TASK_NODES);
	if (!adsm_scratchpad_lay_out_task(&geometry, &task, &layout, text, sizeof(text)))
		return adsm_fail(-EINVAL, "cluster: %s", text);
	return 0;
}

static int cluster_open(int index, const struct adsm_backend_config *config, struct adsm_device **ret_device)
{
	struct cluster_device *device = adsm_process_new(sizeof(*device));
	char *node;
	int ret;

	if (!device)
		return -ENOMEM;
	ret = check_node();
	if (!ret)
		ret = find_node(&node);
	if (ret) {
		free(device);
		return ret;
	}
	device->node = node;
	describe(device, config);
	ret = adsm_process_open(&device->process, config, ret_device);
	if (!ret) {
		shared_of(&device->process)->n_pages = config->arena_size / ADSM_PAGE_SIZE;
		shared_of(&device->process)->n_nodes = adsm_cluster_options.nodes;
		describe_nodes(&device->process);
		device->node = NULL;
	}
	free(node);
	return ret;
}

const struct adsm_backend adsm_backend_cluster = {
	.version = ADSM_BACKEND_VERSION,
	.by_name_only = true,
	.name = "cluster",
	.costs = &adsm_cluster_costs,
	.once = &adsm_process_once,
	.probe = cluster_probe,
	.open = cluster_open,
	ADSM_PROCESS_OPERATIONS,
};
