/* SPDX-License-Identifier: MIT */
/* dataflow_end.c - waiting until calls by ranges have ended, and checking whether this would take forever. */
#include "run/call/dataflow_end.h"

#include <errno.h>

#include "base/log.h"
#include "run/call/dataflow_queue.h"

static const struct adsm_dataflow_range *find_range(const struct adsm_dataflow_call *call,
						 const struct adsm_once_object *object, bool unset)
{
	for (size_t i = 0; i < call->n_ranges; i++) {
		const struct adsm_dataflow_range *range = &call->ranges[i];

		if (range->object != object)
			continue;
		if (!unset)
			return range;
		for (size_t u = 0; u < range->count && !range->sets; u++)
			if (!adsm_once_is_set(object->shared, range->first + u))
				return range;
	}
	return NULL;
}

int adsm_dataflow_check(const struct adsm_once_object *object)
{
	const struct adsm_dataflow_call *waits = NULL;
	int error = 0;

	adsm_mutex_lock(&adsm_dataflow_mutex);
	for (int i = 0; i < ADSM_MAX_DEVICES; i++)
		for (const struct adsm_dataflow_call *call = adsm_dataflow_queues[i].first; call; call = call->next)
			if (find_range(call, object, true))
				waits = call;
	if (waits)
		error = adsm_fail(-EBUSY, "the write-once object at %p cannot be freed: a call of kernel '%s' waits "
				  "for units of it", object->handle.address, waits->kernel->info->name);
	adsm_mutex_unlock(&adsm_dataflow_mutex);
	return error;
}

/* Are there calls that use the object, or, if @object is NULL, calls of the module's kernels? */
static bool has_calls(const struct adsm_once_object *object, const adsmModule *module)
{
	bool has = false;

	adsm_mutex_lock(&adsm_dataflow_mutex);
	for (int i = 0; i < ADSM_MAX_DEVICES; i++)
		for (const struct adsm_dataflow_call *call = adsm_dataflow_queues[i].first; call; call = call->next)
			has |= object ? find_range(call, object, false) != NULL : call->kernel->module == module;
	adsm_mutex_unlock(&adsm_dataflow_mutex);
	return has;
}

static void wait_until_none(const struct adsm_once_object *object, const adsmModule *module)
{
	for (;;) {
		uint32_t word = atomic_load(&adsm_dataflow_ended);

		if (!has_calls(object, module))
			return;
		adsm_os_wait(&adsm_dataflow_ended, word, 0, false);
	}
}

void adsm_dataflow_wait(const struct adsm_once_object *object)
{
	wait_until_none(object, NULL);
}

/* Are all units that the call reads set, or will they be? Lock held; the same for the next function. */
static bool gets_all(const struct adsm_dataflow_call *call)
{
	for (size_t r = 0; r < call->n_ranges; r++) {
		const struct adsm_dataflow_range *range = &call->ranges[r];

		for (size_t u = range->first; !range->sets && u < range->first + range->count; u++)
			if (!adsm_once_is_set(range->object->shared, u) && !adsm_dataflow_comes(range->object, u, true))
				return false;
	}
	return true;
}

/* Find a call of the module's that waits for a unit which no other call will set, or that is behind such a call. */
static const struct adsm_dataflow_call *find_stuck(const adsmModule *module)
{
	bool more = true;

	for (int i = 0; i < ADSM_MAX_DEVICES; i++)
		for (struct adsm_dataflow_call *call = adsm_dataflow_queues[i].first; call; call = call->next)
			call->goes_on = false;
	while (more) {
		more = false;
		for (int i = 0; i < ADSM_MAX_DEVICES; i++)
			for (struct adsm_dataflow_call *call = adsm_dataflow_queues[i].first; call; call = call->next) {
				if (call->goes_on)
					continue;
				if (!gets_all(call))
					break;
				call->goes_on = more = true;
			}
	}
	for (int i = 0; i < ADSM_MAX_DEVICES; i++)
		for (const struct adsm_dataflow_call *call = adsm_dataflow_queues[i].first; call; call = call->next)
			if (!call->goes_on && call->kernel->module == module)
				return call;
	return NULL;
}

int adsm_dataflow_leave(const adsmModule *module)
{
	const struct adsm_dataflow_call *stuck;
	int error = 0;

	adsm_mutex_lock(&adsm_dataflow_mutex);
	stuck = find_stuck(module);
	if (stuck)
		error = adsm_fail(-EBUSY, "a call of kernel '%s' waits for units of write-once objects that no other "
				  "call sets", stuck->kernel->info->name);
	adsm_mutex_unlock(&adsm_dataflow_mutex);
	if (!error)
		wait_until_none(NULL, module);
	return error;
}
