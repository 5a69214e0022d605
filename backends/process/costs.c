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

/* Its record, as long as the launch is among those that are known, which is to be asked after reading. */
static const struct adsm_task_record *record_of(struct adsm_device *device, struct adsm_device_event event,
						uint64_t *ret_n_workers)
{
	const struct adsm_process_shared *shared = ((struct adsm_process_device *)device)->shared;
	const uint64_t i = (event.seq - 1) % ADSM_PROCESS_SLOTS;

	*ret_n_workers = shared->slots[i].counts[ADSM_TASK_WORKERS];
	return shared->slots[i].task && shared->slots[i].counted ? &shared->tasks[i] : NULL;
}

static struct adsm_span span_of(struct adsm_task_span span)
{
	return (struct adsm_span){ span.start_ns, span.ns };
}

static int of_part(struct adsm_device *device, struct adsm_device_event event, unsigned i,
		   struct adsm_part_times *ret_times)
{
	uint64_t n, ns;
	const struct adsm_task_record *record = record_of(device, event, &n);

	if (!record || i >= n)
		return -EINVAL;
	*ret_times = (struct adsm_part_times){ .work = span_of(record->workers[i]) };
	return adsm_process_event_elapsed(device, event, &ns);
}

int adsm_process_of_wait(struct adsm_device *device, struct adsm_device_event event, unsigned i,
			 struct adsm_part_wait *ret_wait)
{
	uint64_t n, ns;
	const struct adsm_task_record *record = record_of(device, event, &n);
	uint32_t what;

	if (!record || !n || i >= ADSM_TASK_WAITS || i >= atomic_load(&record->n_waits))
		return -EINVAL;
	what = record->waits[i].what;
	ret_wait->part = record->waits[i].worker;
	ret_wait->span = span_of(record->waits[i].span);
	if (what == ADSM_TASK_AT_BARRIER)
		adsm_format(ret_wait->what, sizeof(ret_wait->what), "barrier");
	else
		adsm_format(ret_wait->what, sizeof(ret_wait->what), what & ADSM_TASK_HANDED ? "handed lock %u" :
			    "lock %u", what & (ADSM_TASK_LOCKS_MAX - 1));
	return adsm_process_event_elapsed(device, event, &ns);
}

static bool part_name(struct adsm_device *device, unsigned i, char ret_name[ADSM_PART_NAME])
{
	adsm_format(ret_name, ADSM_PART_NAME, "worker %u", i);
	return i < device->caps.max_workers;
}

static void advise(struct adsm_device *device, const char *kernel, const struct adsm_kernel_costs *costs,
		   char *ret_text, size_t size)
{
	adsm_process_advise_locks(costs->values[ADSM_TASK_LOCKS], costs->values[ADSM_TASK_LOCK_WAITS], ret_text, size);
}

void adsm_process_advise_locks(uint64_t locks, uint64_t waits, char *ret_text, size_t size)
{
	*ret_text = '\0';
	if (waits >= MANY && waits >= locks / FEW)
		adsm_format(ret_text, size, "for %lu of the %lu locks that its workers took they had to wait: more "
			    "locks, each for less, or less work while one is held", waits, locks);
}

static const struct adsm_cost counters[] = {
#define ROW(upper, counter, text) { .name = #counter, .help = text },
	ADSM_TASK_COUNTS(ROW)
#undef ROW
	{ .name = NULL }
};

_Static_assert(ADSM_TASK_N_COUNTS <= ADSM_COSTS_MAX, "the contract has room for so many");

const struct adsm_cost_ops adsm_process_costs = {
	.counters = counters,
	.of_launch = of_launch,
	.of_part = of_part,
	.of_wait = adsm_process_of_wait,
	.part_name = part_name,
	.advise = advise,
};
