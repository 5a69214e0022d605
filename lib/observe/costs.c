/* SPDX-License-Identifier: MIT */
/* costs.c - costs that devices count for each launch: sums by kernel, and events for each part of a device. */
#include "observe/costs.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/observe.h"
#include "observe/ring.h"
#include "observe/trace.h"

/* Guarded by the home's lock, from the opening of the device to the end of observing. */
static struct sums {
	struct adsm_cost_sum *v;	/* ADSM_COST_SUMS_MAX entries; NULL: the device
					   counts nothing, or there is no memory */
	size_t n;
} all[ADSM_MAX_DEVICES];

void adsm_costs_device(int device, struct adsm_device *opened)
{
	const struct adsm_cost_ops *ops = opened->backend->costs;
	char name[ADSM_PART_NAME];

	if (!ops->counters->name)
		return;
	if (!all[device].v)
		all[device].v = adsm_os_table(ADSM_COST_SUMS_MAX * sizeof(*all[device].v));
	for (unsigned i = 0; adsm_observes(ADSM_OBSERVE_TRACE) && ops->part_name(opened, i, name); i++)
		adsm_trace_part(device, i, name);
}

static struct adsm_cost_sum *sum_of_kernel(struct sums *sums, const char *kernel)
{
	size_t i = 0;

	while (i < sums->n && strcmp(sums->v[i].kernel, kernel))
		i++;
	if (!sums->v || i == ADSM_COST_SUMS_MAX)
		return NULL;
	if (i == sums->n) {
		memset(&sums->v[i], 0, sizeof(sums->v[i]));
		adsm_format(sums->v[i].kernel, sizeof(sums->v[i].kernel), "%s", kernel);
		sums->n++;
	}
	return &sums->v[i];
}

static void put_span(struct adsm_trace_event event, bool exchange, struct adsm_span span)
{
	event.detail = exchange;
	event.start_ns = span.start_ns;
	event.ns = span.ns;
	if (span.ns)
		adsm_trace_put(&event);
}

static void trace_moves(struct adsm_home *home, const struct adsm_kernel_run *run)
{
	const struct adsm_cost_ops *ops = home->device->backend->costs;
	struct adsm_part_moves moves;

	for (unsigned i = 0; i < ADSM_TRACE_MOVES && !ops->of_moves(home->device, run->event, i, &moves); i++) {
		const struct adsm_trace_event event = {
			.type = ADSM_TRACE_MOVED, .detail = moves.code, .device = (uint8_t)home->index,
			.start_ns = moves.span.start_ns, .ns = moves.span.ns, .a = run->seq, .b = moves.part,
			.moved = { moves.count, moves.bytes },
		};

		adsm_trace_put(&event);
	}
}

static void trace_parts(struct adsm_home *home, const struct adsm_kernel_run *run)
{
	const struct adsm_cost_ops *ops = home->device->backend->costs;
	struct adsm_trace_event event = {
		.type = ADSM_TRACE_PART, .a = run->seq, .device = (uint8_t)home->index,
	};
	struct adsm_part_times times;
	struct adsm_part_wait wait;

	adsm_format(event.name, sizeof(event.name), "%s", run->kernel);
	for (unsigned i = 0; i < ADSM_TRACE_PARTS && !ops->of_part(home->device, run->event, i, &times); i++) {
		event.b = i;
		put_span(event, true, times.before);
		put_span(event, false, times.work);
		put_span(event, true, times.after);
	}
	event.type = ADSM_TRACE_PART_WAIT;
	for (unsigned i = 0; !ops->of_wait(home->device, run->event, i, &wait); i++) {
		adsm_format(event.name, sizeof(event.name), "%s", wait.what);
		event.b = wait.part;
		put_span(event, false, wait.span);
	}
	trace_moves(home, run);
}

static void add_cost(uint64_t *sum, uint64_t value, bool peak)
{
	if (!peak)
		*sum += value;
	else if (value > *sum)
		*sum = value;
}

static struct adsm_lane_sum lanes[ADSM_MAX_DEVICES][ADSM_LANES_MAX];	/* guarded by the homes' locks */

uint64_t adsm_costs_take(struct adsm_home *home, const struct adsm_kernel_run *run)
{
	const struct adsm_cost_ops *ops = home->device->backend->costs;
	uint64_t values[ADSM_COSTS_MAX] = { 0 }, start_ns = 0;
	struct adsm_cost_sum *sum;

	lanes[home->index][run->lane].calls++;
	lanes[home->index][run->lane].kernel_ns += run->ns;
	if (!ops->counters->name || !*run->kernel || ops->of_launch(home->device, run->event, values, &start_ns))
		return 0;
	sum = sum_of_kernel(&all[home->index], run->kernel);
	if (sum) {
		sum->costs.calls++;
		sum->costs.kernel_ns += run->ns;
		for (size_t i = 0; i < ADSM_COSTS_MAX && ops->counters[i].name; i++)
			add_cost(&sum->costs.values[i], values[i], ops->counters[i].peak);
	}
	if (adsm_observes(ADSM_OBSERVE_TRACE))
		trace_parts(home, run);
	return start_ns;
}

void adsm_costs_reset(void)
{
	for (int i = 0; i < adsm_n_homes; i++) {
		struct adsm_sigset old;

		adsm_home_lock(&adsm_homes[i], &old);
		all[i].n = 0;
		memset(lanes[i], 0, sizeof(lanes[i]));
		adsm_home_unlock(&adsm_homes[i], &old);
	}
}

void adsm_costs_forget(void)
{
	for (int i = 0; i < ADSM_MAX_DEVICES; i++)
		all[i].n = 0;
	memset(lanes, 0, sizeof(lanes));
}

size_t adsm_costs_copy(int device, struct adsm_cost_sum **ret_sums)
{
	/* Allocate first: no memory is allocated under the lock. */
	struct adsm_cost_sum *sums = all[device].v ? malloc(ADSM_COST_SUMS_MAX * sizeof(*sums)) : NULL;
	struct adsm_sigset old;
	size_t n = 0;

	if (sums) {
		adsm_home_lock(&adsm_homes[device], &old);
		n = all[device].n;
		memcpy(sums, all[device].v, n * sizeof(*sums));
		adsm_home_unlock(&adsm_homes[device], &old);
	}
	*ret_sums = sums;
	return n;
}

void adsm_costs_lanes(int device, struct adsm_lane_sum ret_sums[ADSM_LANES_MAX])
{
	struct adsm_sigset old;

	adsm_home_lock(&adsm_homes[device], &old);
	memcpy(ret_sums, lanes[device], sizeof(lanes[device]));
	adsm_home_unlock(&adsm_homes[device], &old);
}
