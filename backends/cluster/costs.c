/* SPDX-License-Identifier: MIT */
/* costs.c - the costs of launches on a cluster. Node 0 records them for each counted launch (shared.h); the functions
 * here read them, and advise on kernels whose exchange takes longer than their work. */
#include "costs.h"

#include "base/log.h"
#include "process/costs.h"
#include "process/open.h"
#include "shared.h"

#include <errno.h>
#include <string.h>

#define FEW 10				/* less than one part in this number does not matter */
#define LITTLE_NS 1000000		/* of work: the messages of a launch alone take a part of that */
#define MATTERS_NS 1000000		/* of all exchanges */

static const struct adsm_cluster_shared *shared_of(struct adsm_device *device)
{
	return (const struct adsm_cluster_shared *)((struct adsm_process_device *)device)->shared->extra;
}

/* The costs that node 0 recorded for a launch; NULL: none, as from one node that tracks nothing. */
static const struct adsm_cluster_costs *costs_of(struct adsm_device *device, struct adsm_device_event event)
{
	const struct adsm_cluster_costs *costs = &shared_of(device)->costs[(event.seq - 1) % ADSM_PROCESS_SLOTS];

	return costs->seq == event.seq && costs->counted ? costs : NULL;
}

/* For one node alone: when it ran, and for how long. */
static int find_alone(struct adsm_device *device, struct adsm_device_event event, struct adsm_span *ret_span)
{
	if (shared_of(device)->n_nodes != 1)
		return -EINVAL;
	return adsm_process_event_times(device, event, ret_span);
}

static int of_launch(struct adsm_device *device, struct adsm_device_event event, uint64_t *ret_values,
		     uint64_t *ret_start_ns)
{
	const struct adsm_cluster_costs *costs = costs_of(device, event);
	struct adsm_span alone;
	struct adsm_span span;
	int ret;

	if (!costs) {
		ret = find_alone(device, event, &alone);
		if (ret)
			return ret;
		memset(ret_values, 0, ADSM_CLUSTER_N_COUNTS * sizeof(*ret_values));
		ret_values[ADSM_CLUSTER_WORK_NS] = alone.ns;
		*ret_start_ns = alone.start_ns;
		return 0;
	}
	memcpy(ret_values, costs->values, sizeof(costs->values));
	*ret_start_ns = costs->start_ns;
	/* Check after reading that the slot still belongs to the launch. */
	return adsm_process_event_times(device, event, &span);
}

static int of_part(struct adsm_device *device, struct adsm_device_event event, unsigned i,
		   struct adsm_part_times *ret_times)
{
	const struct adsm_cluster_costs *costs = costs_of(device, event);

	/* Workers of tasks come after the nodes. */
	if (i >= shared_of(device)->n_nodes)
		return adsm_process_of_part(device, event, i - shared_of(device)->n_nodes, ret_times);
	*ret_times = (struct adsm_part_times){ .work.ns = 0 };
	if (!costs)
		return find_alone(device, event, &ret_times->work);
	ret_times->before = costs->nodes[i].before;
	ret_times->work = costs->nodes[i].work;
	ret_times->after = costs->nodes[i].after;
	return 0;
}

static int of_wait(struct adsm_device *device, struct adsm_device_event event, unsigned i,
		   struct adsm_part_wait *ret_wait)
{
	int ret = adsm_process_of_wait(device, event, i, ret_wait);

	if (!ret)
		ret_wait->part += shared_of(device)->n_nodes;
	return ret;
}

static bool part_name(struct adsm_device *device, unsigned i, char ret_name[ADSM_PART_NAME])
{
	const struct adsm_cluster_shared *shared = shared_of(device);

	if (i >= shared->n_nodes)
		return adsm_process_part_name(device, i - shared->n_nodes, ret_name);
	adsm_format(ret_name, ADSM_PART_NAME, "node %u (%s)", i, shared->nodes[i].host);
	return true;
}

/* ---- advice */

struct duration { char text[24]; };

static struct duration duration(uint64_t ns)
{
	static const char *const units[] = { "us", "ms", "s" };
	struct duration duration;
	unsigned unit = 0;

	for (; unit < 2 && ns >= 999950; ns /= 1000)
		unit++;
	ns = (ns + 50) / 100;
	adsm_format(duration.text, sizeof(duration.text), "%lu.%lu %s", ns / 10, ns % 10, units[unit]);
	return duration;
}

/* Without waits for pages. */
static uint64_t work_of(const struct adsm_kernel_costs *costs)
{
	const uint64_t work = costs->values[ADSM_CLUSTER_WORK_NS], fetch = costs->values[ADSM_CLUSTER_FETCH_NS];

	return work > fetch ? work - fetch : 0;
}

/* Append each cause with its numbers, over all calls, and what would help. */
static void say_causes(char *text, size_t size, const struct adsm_kernel_costs *costs, uint32_t n_nodes)
{
	const uint64_t *v = costs->values, modified = v[ADSM_CLUSTER_PAGES_MODIFIED];
	const uint64_t several = v[ADSM_CLUSTER_PAGES_MULTI], unwritten = v[ADSM_CLUSTER_PAGES_UNWRITTEN];
	const uint64_t host = v[ADSM_CLUSTER_PAGES_HOST];
	const uint64_t work = work_of(costs) / costs->calls, whole = costs->kernel_ns / costs->calls;

	if (v[ADSM_CLUSTER_ALONE])
		adsm_append(text, size, "; node 0 ran %lu of %lu calls alone, because of atomics on objects or "
			    "services: all nodes run it if it does atomics on an ADSM_SHARED array, and calls no "
			    "services", v[ADSM_CLUSTER_ALONE], costs->calls);
	else if (v[ADSM_CLUSTER_IDLE])
		adsm_append(text, size, "; %lu times in %lu calls a node had no block: use larger grids of smaller "
			    "blocks", v[ADSM_CLUSTER_IDLE], costs->calls);
	if (several && several >= modified / FEW)
		adsm_append(text, size, "; several nodes wrote %lu of %lu pages: let consecutive blocks write one "
			    "contiguous range, and each block more of it", several, modified);
	if (v[ADSM_CLUSTER_FETCH_NS] > v[ADSM_CLUSTER_EXCHANGE_NS])
		adsm_append(text, size, "; nodes fetched %lu pages while it ran: use the same order of blocks in all "
			    "kernels, so that nodes read what they wrote", v[ADSM_CLUSTER_PAGES_FETCHED]);
	if (host && host >= modified / FEW)
		adsm_append(text, size, "; the host wrote %lu pages before calls: if it changes only a part of each "
			    "block, smaller blocks (ADSM_BLOCK_SIZE) send less", host);
	if (unwritten)
		adsm_append(text, size, "; it wrote nothing to objects of %lu pages: declare parameters that it only "
			    "reads as ADSM_IN, or pass adsmIn(p)", unwritten);
	if (!v[ADSM_CLUSTER_ALONE] && work / n_nodes < LITTLE_NS)
		adsm_append(text, size, "; each node works %s in a call: use larger grids and fewer calls",
			    duration(work / n_nodes).text);
	if (work < whole)
		adsm_append(text, size, "; a call takes %s, but one node would work only %s: use fewer nodes",
			    duration(whole).text, duration(work).text);
}

static void advise_task(struct adsm_device *device, const char *task, const struct adsm_kernel_costs *costs,
			char *text, size_t size)
{
	const uint64_t *v = costs->values;
	const struct adsm_process_locks locks = ADSM_PROCESS_LOCKS(ADSM_CLUSTER, v);
	const struct adsm_sharing_counts sharing = ADSM_SHARING_COUNTS(ADSM_CLUSTER, v);

	*text = '\0';
	/* Most waits are for locks that come from the manager: only the time of waits counts. */
	if (locks.work_ns && locks.wait_ns >= locks.work_ns / FEW)
		adsm_process_advise_locks(device, task, &locks, text, size);
	if (*text)
		adsm_append(text, size, "; nodes requested a lock %lu times, all other locks stayed on their nodes",
			    v[ADSM_CLUSTER_LOCKS_GLOBAL]);
	adsm_sharing_advise(&shared_of(device)->sharings, task, &sharing, text, size);
}

static void advise(struct adsm_device *device, const char *kernel, const struct adsm_kernel_costs *costs,
		   char *ret_text, size_t size)
{
	const uint64_t exchange = costs->values[ADSM_CLUSTER_EXCHANGE_NS], fetch = costs->values[ADSM_CLUSTER_FETCH_NS];
	const uint64_t work = work_of(costs);
	const uint32_t n_nodes = shared_of(device)->n_nodes;

	if (costs->values[ADSM_CLUSTER_WORKERS]) {
		advise_task(device, kernel, costs, ret_text, size);
		return;
	}
	*ret_text = '\0';
	if (n_nodes == 1 || exchange + fetch <= work || exchange + fetch < MATTERS_NS)
		return;
	adsm_append(ret_text, size, "its exchange took %s, ", duration(exchange).text);
	if (fetch)
		adsm_append(ret_text, size, "waits for pages took %s, ", duration(fetch).text);
	adsm_append(ret_text, size, "its work took %s, added up over %u nodes", duration(work).text, n_nodes);
	say_causes(ret_text, size, costs, n_nodes);
}

static const struct adsm_cost counters[] = {
#define ROW(upper, counter, text) ADSM_PROCESS_COST(ADSM_CLUSTER, upper, #counter, text, false),
	ADSM_CLUSTER_COUNTS(ROW)
#undef ROW
	{ .name = NULL }
};

_Static_assert(ADSM_CLUSTER_N_COUNTS <= ADSM_COSTS_MAX, "the contract limits the number of counters");

const struct adsm_cost_ops adsm_cluster_costs = {
	.counters = counters,
	.of_launch = of_launch,
	.of_part = of_part,
	.of_wait = of_wait,
	.of_moves = adsm_process_of_moves,
	.part_name = part_name,
	.advise = advise,
};
