/* SPDX-License-Identifier: MIT */
/* process/costs.c - the costs of tasks in a device process, which the process counts in the slots of launches. */
#include "costs.h"

#include "base/log.h"
#include "launch.h"
#include "process.h"

#include <errno.h>
#include <string.h>

#define FEW 10				/* advise from one part in this number on */
#define MANY 1000			/* waits */
#define LONG_NS 10000000
#define NAMED 3				/* maximum number of locks that the advice names */

static int of_launch(struct adsm_device *device, struct adsm_device_event event, uint64_t *ret_values,
		     uint64_t *ret_start_ns)
{
	const struct adsm_process_shared *shared = ((struct adsm_process_device *)device)->shared;
	const struct adsm_process_slot *slot = &shared->slots[(event.seq - 1) % ADSM_PROCESS_SLOTS];
	const bool task = slot->task;
	struct adsm_span span;

	memcpy(ret_values, slot->counts, sizeof(slot->counts));
	*ret_start_ns = slot->start_ns;
	/* Check after reading that the slot still belongs to the launch. */
	return task ? adsm_process_event_times(device, event, &span) : -EINVAL;
}

/* The launch's record. After reading it, the caller checks that the slot still belongs to the launch. */
static const struct adsm_task_record *record_of(struct adsm_device *device, struct adsm_device_event event,
						uint64_t *ret_n_workers)
{
	const struct adsm_process_shared *shared = ((struct adsm_process_device *)device)->shared;
	const uint64_t i = (event.seq - 1) % ADSM_PROCESS_SLOTS;

	*ret_n_workers = shared->slots[i].counts[ADSM_TASK_WORKERS];
	return shared->slots[i].task && shared->slots[i].counted ? &shared->tasks[i] : NULL;
}

int adsm_process_of_part(struct adsm_device *device, struct adsm_device_event event, unsigned i,
			 struct adsm_part_times *ret_times)
{
	struct adsm_span span;
	uint64_t n;
	const struct adsm_task_record *record = record_of(device, event, &n);

	if (!record || i >= n || i >= ADSM_TASK_WORKERS_MAX)
		return -EINVAL;
	*ret_times = (struct adsm_part_times){ .work = record->workers[i] };
	return adsm_process_event_times(device, event, &span);
}

int adsm_process_of_wait(struct adsm_device *device, struct adsm_device_event event, unsigned i,
			 struct adsm_part_wait *ret_wait)
{
	struct adsm_span span;
	uint64_t n;
	const struct adsm_task_record *record = record_of(device, event, &n);
	uint32_t what;

	if (!record || !n || i >= ADSM_TASK_WAITS || i >= atomic_load(&record->n_waits))
		return -EINVAL;
	what = record->waits[i].what;
	ret_wait->part = record->waits[i].worker;
	ret_wait->span = record->waits[i].span;
	if (what == ADSM_TASK_AT_BARRIER || what == ADSM_TASK_FOR_MEMORY)
		adsm_format(ret_wait->what, sizeof(ret_wait->what), what == ADSM_TASK_AT_BARRIER ? "barrier" :
			    "memory");
	else
		adsm_format(ret_wait->what, sizeof(ret_wait->what), what & ADSM_TASK_HANDED ? "handed lock %u" :
			    what & ADSM_TASK_FLAG ? "flag %u" : "lock %u", what & (ADSM_TASK_LOCKS_MAX - 1));
	return adsm_process_event_times(device, event, &span);
}

int adsm_process_of_moves(struct adsm_device *device, struct adsm_device_event event, unsigned i,
			  struct adsm_part_moves *ret_moves)
{
	return -EINVAL;
}

bool adsm_process_part_name(struct adsm_device *device, unsigned i, char ret_name[ADSM_PART_NAME])
{
	adsm_format(ret_name, ADSM_PART_NAME, "worker %u", i);
	return i < device->caps.max_workers;
}

/* Find the locks with the longest waits in calls of the kernel whose slots still exist. */
static void find_hot(struct adsm_device *device, const char *kernel, struct adsm_task_hot ret_hot[ADSM_TASK_HOT])
{
	const struct adsm_process_shared *shared = ((struct adsm_process_device *)device)->shared;
	const uint64_t done = atomic_load(&((struct adsm_process_device *)device)->launched);

	memset(ret_hot, 0, ADSM_TASK_HOT * sizeof(*ret_hot));
	for (uint64_t seq = done; seq && done - seq < ADSM_PROCESS_SLOTS; seq--) {
		const uint64_t i = (seq - 1) % ADSM_PROCESS_SLOTS;

		if (!shared->slots[i].task || !shared->slots[i].counted || strcmp(shared->slots[i].name, kernel))
			continue;
		for (unsigned k = 0; k < ADSM_TASK_HOT && shared->tasks[i].hot[k].n; k++)
			adsm_task_hot_add(ret_hot, shared->tasks[i].hot[k]);
	}
}

static void say_hot(struct adsm_device *device, const char *kernel, char *text, size_t size)
{
	struct adsm_task_hot hot[ADSM_TASK_HOT];

	find_hot(device, kernel, hot);
	for (unsigned k = 0; k < NAMED && hot[k].n && hot[k].ns >= hot[0].ns / FEW; k++) {
		if (hot[k].lock < ADSM_TASK_LOCKS_MAX)
			adsm_append(text, size, "%slock %u %u times", k ? ", " : ": ", hot[k].lock, hot[k].n);
		else
			adsm_append(text, size, "%sADSM_TASK_ALLOC %u times", k ? ", " : ": ", hot[k].n);
	}
}

void adsm_process_advise_locks(struct adsm_device *device, const char *kernel, const struct adsm_process_locks *locks,
			       char *ret_text, size_t size)
{
	*ret_text = '\0';
	if ((locks->waits < MANY || locks->waits < locks->n / FEW) &&
	    (locks->wait_ns < LONG_NS || locks->wait_ns < locks->work_ns / FEW))
		return;
	adsm_append(ret_text, size, "its workers waited for %lu of the %lu locks that they took, %lu %% of their time",
		    locks->waits, locks->n, locks->work_ns ? locks->wait_ns * 100 / locks->work_ns : 0);
	say_hot(device, kernel, ret_text, size);
	adsm_append(ret_text, size, "; use more locks that each protect less, or do less work while a lock is held");
}

static void advise(struct adsm_device *device, const char *kernel, const struct adsm_kernel_costs *costs,
		   char *ret_text, size_t size)
{
	const struct adsm_process_locks locks = ADSM_PROCESS_LOCKS(ADSM_TASK, costs->values);

	adsm_process_advise_locks(device, kernel, &locks, ret_text, size);
}

static const struct adsm_cost counters[] = {
#define ROW(upper, counter, text) { .name = #counter, .help = text },
	ADSM_TASK_COUNTS(ROW)
#undef ROW
	{ .name = NULL }
};

_Static_assert(ADSM_TASK_N_COUNTS <= ADSM_COSTS_MAX, "the contract limits the number of counters");

const struct adsm_cost_ops adsm_process_costs = {
	.counters = counters,
	.of_launch = of_launch,
	.of_part = adsm_process_of_part,
	.of_wait = adsm_process_of_wait,
	.of_moves = adsm_process_of_moves,
	.part_name = adsm_process_part_name,
	.advise = advise,
};
