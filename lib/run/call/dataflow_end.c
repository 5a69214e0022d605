/* SPDX-License-Identifier: MIT */
/* dataflow_end.c - waiting until calls by ranges have ended, and checking whether this would take forever. */
#include "run/call/dataflow_end.h"

#include <errno.h>

#include "base/log.h"
#include "core/index.h"
#include "run/call/dataflow_queue.h"
#include "run/wait/enter.h"

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

/* What is to be freed: one of these. */
struct used {
	const adsmModule *module;
	const struct adsm_once_object *object;
	/* Memory, and whether it is assigned to kernels. */
	const struct adsm_home *home;
	uintptr_t start;
	size_t size;
	bool assigned;
};

/* The address behind an object is one of the object only if no other object begins there. */
static bool points_to(const struct adsm_dataflow_pointer *pointer, const struct used *used)
{
	return pointer->p - used->start < used->size ||
	       (pointer->raw && pointer->p == used->start + used->size && !adsm_index_find(pointer->p));
}

/* An unnamed call uses all memory of its device but what is assigned to other kernels only. */
static bool uses_memory(const struct adsm_dataflow_call *call, const struct used *used)
{
	for (size_t i = 0; i < call->n_pointers; i++)
		if (points_to(&call->pointers[i], used))
			return true;
	return !call->known && call->home == used->home && !used->assigned;
}

/* Does the call read a unit of the write-once object that is not set? */
static bool reads_unset(const struct adsm_dataflow_call *call, const struct used *used)
{
	return used->object && find_range(call, used->object, true);
}

static bool uses(const struct adsm_dataflow_call *call, const struct used *used)
{
	return used->module ? call->kernel->module == used->module :
		used->object ? find_range(call, used->object, false) != NULL : uses_memory(call, used);
}

/* @used: NULL: are there calls at all? */
static bool has_calls(const struct used *used)
{
	bool has = false;

	adsm_mutex_lock(&adsm_dataflow_mutex);
	for (int i = 0; i < ADSM_MAX_DEVICES; i++)
		for (const struct adsm_dataflow_call *call = adsm_dataflow_queues[i].first; call; call = call->next)
			has |= !used || uses(call, used);
	adsm_mutex_unlock(&adsm_dataflow_mutex);
	return has;
}

static void wait_until_none(const struct used *used)
{
	for (;;) {
		uint32_t word = atomic_load(&adsm_dataflow_ended);

		if (!has_calls(used))
			return;
		adsm_os_wait(&adsm_dataflow_ended, word, 0, false);
	}
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

/* Find a call that waits for a unit which no other call will set, or that is behind such a call. */
static const struct adsm_dataflow_call *find_stuck(const struct used *used)
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
			if (reads_unset(call, used) || (!call->goes_on && uses(call, used)))
				return call;
	return NULL;
}

static int check(const struct used *used)
{
	const struct adsm_dataflow_call *stuck;
	int error = 0;

	adsm_mutex_lock(&adsm_dataflow_mutex);
	stuck = find_stuck(used);
	if (stuck && reads_unset(stuck, used))
		error = adsm_fail(-EBUSY, "the write-once object at %p cannot be freed: a call of kernel '%s' waits "
				  "for units of it", used->object->handle.address, stuck->kernel->info->name);
	else if (stuck)
		error = adsm_fail(-EBUSY, "a call of kernel '%s' waits for units of write-once objects that no other "
				  "call sets", stuck->kernel->info->name);
	adsm_mutex_unlock(&adsm_dataflow_mutex);
	return error;
}

static int leave(const struct used *used)
{
	int error = check(used);

	if (!error)
		wait_until_none(used);
	return error;
}

int adsm_dataflow_leave(const adsmModule *module)
{
	return leave(&(struct used){ .module = module });
}

int adsm_dataflow_check_once(const struct adsm_once_object *object)
{
	return check(&(struct used){ .object = object });
}

int adsm_dataflow_leave_once(const struct adsm_once_object *object)
{
	return leave(&(struct used){ .object = object });
}

int adsm_dataflow_leave_object(const void *p, enum adsm_maker maker)
{
	struct used used = { .start = (uintptr_t)p };
	const struct adsm_object *object;
	struct adsm_sigset old;
	int error;

	/* Most programs have no such calls. */
	if (!has_calls(NULL))
		return 0;
	object = adsm_object_enter(p, &old);
	error = adsm_object_check_free(object, p, maker);
	if (object) {
		used.home = object->home;
		used.size = object->span;
		used.assigned = object->assigned;
		adsm_home_unlock(object->home, &old);
	}
	return error ? error : leave(&used);
}
