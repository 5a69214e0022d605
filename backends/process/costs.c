/* SPDX-License-Identifier: MIT */
/* process/costs.c - what tasks have cost a device process, as it has counted in their slots. */
#include "costs.h"

#include "base/log.h"
#include "launch.h"
#include "process.h"

#include <errno.h>
#include <string.h>

#define FEW 10				/* waits for less than a tenth of the locks are no matter */
#define MANY 1000

static int of_launch(struct adsm_device *device, struct adsm_device_event event, uint64_t *ret_values,
		     uint64_t *ret_start_ns)
{
	const struct adsm_process_shared *shared = ((struct adsm_process_device *)device)->shared;
	const struct adsm_process_slot *slot = &shared->slots[(event.seq - 1) % ADSM_PROCESS_SLOTS];
	const bool task = slot->task;
	uint64_t ns;

	memcpy(ret_values, slot->counts, sizeof(slot->counts));
	*ret_start_ns = slot->start_ns;
	/* After reading: is it still among those that are known? */
	return task ? adsm_process_event_elapsed(device, event, &ns) : -EINVAL;
}

static int of_part(struct adsm_device *device, struct adsm_device_event event, unsigned i,
		   struct adsm_part_times *ret_times)
{
	return -EINVAL;
}

static bool part_name(struct adsm_device *device, unsigned i, char ret_name[ADSM_PART_NAME])
{
	return false;
}

static void advise(struct adsm_device *device, const struct adsm_kernel_costs *costs, char *ret_text, size_t size)
{
	const uint64_t locks = costs->values[ADSM_TASK_LOCKS], waits = costs->values[ADSM_TASK_LOCK_WAITS];

	*ret_text = '\0';
	if (waits >= MANY && waits >= locks / FEW)
		adsm_format(ret_text, size, "for %lu of the %lu locks that its workers took they had to wait: more "
			    "locks, each for less, or less work while one is held", waits, locks);
}

static const struct adsm_cost counters[] = {
#define ROW(upper, name, help) { #name, help, false },
	ADSM_TASK_COUNTS(ROW)
#undef ROW
	{ NULL, NULL, false }
};

_Static_assert(ADSM_TASK_N_COUNTS <= ADSM_COSTS_MAX, "the contract has room for so many");

const struct adsm_cost_ops adsm_process_costs = {
	.counters = counters,
	.of_launch = of_launch,
	.of_part = of_part,
	.part_name = part_name,
	.advise = advise,
};
