/* SPDX-License-Identifier: MIT */
/* costs.c - what launches have cost on a scratchpad device, which has written it down (shared.h). */
#include "costs.h"

#include "base/log.h"
#include "process/open.h"
#include "shared.h"
#include "stubs.h"

#include <errno.h>
#include <string.h>

static const struct adsm_scratchpad_shared *shared_of(struct adsm_device *device)
{
	return (const struct adsm_scratchpad_shared *)((struct adsm_process_device *)device)->shared->extra;
}

static const struct adsm_scratchpad_costs *find(struct adsm_device *device, struct adsm_device_event event)
{
	const struct adsm_scratchpad_costs *costs = &shared_of(device)->costs[(event.seq - 1) % ADSM_PROCESS_SLOTS];

	return event.seq && costs->seq == event.seq ? costs : NULL;
}

static int of_launch(struct adsm_device *device, struct adsm_device_event event, uint64_t *ret_values,
		     uint64_t *ret_start_ns)
{
	const struct adsm_scratchpad_costs *costs = find(device, event);
	uint64_t ns;

	if (!costs)
		return -EINVAL;
	for (int i = 0; i < ADSM_SCRATCHPAD_N_COUNTS; i++)
		ret_values[i] = atomic_load(&costs->values[i]);
	*ret_start_ns = costs->start_ns;
	/* After reading: is it still among those that are known? */
	return adsm_process_event_elapsed(device, event, &ns);
}

static struct adsm_span span_of(struct adsm_scratchpad_span span)
{
	return (struct adsm_span){ span.start_ns, span.ns };
}

static int of_part(struct adsm_device *device, struct adsm_device_event event, unsigned i,
		   struct adsm_part_times *ret_times)
{
	const struct adsm_scratchpad_costs *costs = find(device, event);

	if (!costs || i >= shared_of(device)->n_cores)
		return -EINVAL;
	*ret_times = (struct adsm_part_times){
		.work = span_of(costs->cores[i].work),
		.after = span_of(costs->cores[i].flush),
	};
	return 0;
}

static bool part_name(struct adsm_device *device, unsigned i, char ret_name[ADSM_PART_NAME])
{
	if (i >= shared_of(device)->n_cores)
		return false;
	adsm_format(ret_name, ADSM_PART_NAME, "core %u", i);
	return true;
}

static void advise(struct adsm_device *device, const char *kernel, const struct adsm_kernel_costs *costs,
		   char *ret_text, size_t size)
{
	*ret_text = '\0';
}

static const struct adsm_cost counters[] = {
#define ROW(upper, counter, text) { \
	.name = #counter, .help = text, .peak = ADSM_SCRATCHPAD_IS_PEAK(ADSM_SCRATCHPAD_##upper) \
},
	ADSM_SCRATCHPAD_COUNTS(ROW)
#undef ROW
	{ .name = NULL }
};

_Static_assert(ADSM_SCRATCHPAD_N_COUNTS <= ADSM_COSTS_MAX, "the contract has room for so many");

const struct adsm_cost_ops adsm_scratchpad_costs = {
	.counters = counters,
	.of_launch = of_launch,
	.of_part = of_part,
	.of_wait = adsm_no_of_wait,
	.part_name = part_name,
	.advise = advise,
};
