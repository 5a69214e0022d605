/* SPDX-License-Identifier: MIT */
/* residency.c - see residency.h. */
#include "run/call/residency.h"

#include <errno.h>

#include "base/error.h"
#include "base/log.h"
#include "core/block.h"
#include "core/objects.h"
#include "core/observe.h"
#include "core/replica.h"
#include "core/resident.h"
#include "run/wait/wait.h"

uint64_t (*adsm_residency_available)(void) = adsm_os_memory_available;

/* ---- the objects of a call */

/*
 * Does the call reach all objects of the device, not only those that it names? Commands of the program's own reach
 * objects without a handle only if the device uses the CPU's addresses.
 */
static bool reaches_all(const struct adsm_bound *bound)
{
	return !bound->named && (bound->kernel || bound->home->device->caps.given_address);
}

static bool is_reached(const struct adsm_bound *bound, const struct adsm_object *object)
{
	return adsm_object_is_at(object, bound->home) && object->live && !object->freeing && !object->assigned &&
		!object->device_only;
}

/* ---- does it fit? */

struct sizes {
	uint64_t all;			/* of the call's objects */
	uint64_t absent;		/* of these, without device memory */
};

/* Add an object of the call to the sizes, and mark it: it must not be displaced. */
static void add(const struct adsm_bound *bound, struct adsm_object *object, struct sizes *sizes)
{
	if (object->round == bound->home->residents.round)
		return;
	object->round = bound->home->residents.round;
	sizes->all += object->span;
	if (!object->memory)
		sizes->absent += object->span;
}

static struct sizes measure(const struct adsm_bound *bound)
{
	struct sizes sizes = { 0 };
	struct adsm_object *object;

	bound->home->residents.round++;
	for (size_t i = 0; i < bound->n_uses; i++)
		add(bound, bound->uses[i].object, &sizes);
	for (uint32_t i = 0; reaches_all(bound) && (object = adsm_object_slot(i)); i++)
		if (is_reached(bound, object))
			add(bound, object, &sizes);
	return sizes;
}

/* Can the object be displaced once no call uses it? Calls will end; inputs may take any time. Also while another thread
 * frees it and waits for its calls: until then its memory is not free. */
static bool may_leave_any_time(const struct adsm_object *object, const struct adsm_home *home)
{
	return adsm_object_is_at(object, home) && object->live && object->memory &&
		!object->pinned && !object->inputs && adsm_object_can_be_displaced(object);
}

/* The same, but this call does not use it. */
static bool may_leave_later(const struct adsm_object *object, const struct adsm_home *home)
{
	return may_leave_any_time(object, home) && object->round != home->residents.round;
}

static bool may_leave(const struct adsm_object *object, const struct adsm_home *home)
{
	return !object->stays && may_leave_later(object, home);
}

/* Bytes that another call keeps until it has begun, or until all of its parts have ended. */
static uint64_t kept_by_another(const struct adsm_bound *bound)
{
	uint64_t size = bound->yields ? adsm_replicas_wanted(bound->home) : 0;
	const struct adsm_object *object;

	for (uint32_t i = 0; bound->yields && (object = adsm_object_slot(i)); i++)
		if (may_leave_later(object, bound->home) && object->stays)
			size += object->span;
	return size;
}

/* Bytes of device memory that threads are taking for objects, or freeing. They are neither free nor memory of an
 * object that can be displaced, but soon they are one or the other. */
static uint64_t in_transit(const struct adsm_home *home)
{
	const struct adsm_object *object;
	uint64_t size = home->residents.in_transit;

	for (const struct adsm_replica *replica = home->replicas; replica; replica = replica->next)
		size += replica->placing || (replica->ending && replica->memory) ? replica->span : 0;
	for (uint32_t i = 0; (object = adsm_object_slot(i)); i++)
		size += adsm_object_is_at(object, home) && object->live && object->placing ? object->span : 0;
	return size;
}

static const char *name_of(const struct adsm_bound *bound)
{
	return bound->kernel ? bound->kernel->info->name : "the program's own commands";
}

/* Returns 1 if the lock was given back: look again. */
static int check_fits(const struct adsm_bound *bound)
{
	const struct adsm_device *device = bound->home->device;
	const struct sizes sizes = measure(bound);
	const uint64_t free = adsm_objects_memory_free(bound->home);
	const struct adsm_object *object;
	uint64_t others = 0;

	for (uint32_t i = 0; sizes.absent > free + others && (object = adsm_object_slot(i)); i++)
		if (may_leave(object, bound->home))
			others += object->span;
	if (sizes.absent <= free + others)
		return 0;
	if (in_transit(bound->home)) {
		adsm_home_wait(bound->home);
		return 1;
	}
	if (sizes.absent <= free + others + kept_by_another(bound))
		return -EAGAIN;
	return adsm_fail(-ENOMEM, "kernel '%s': its objects need %lu bytes of device memory, and have %lu of them; "
			 "%s has %lu bytes: %lu are free, and %lu belong to other objects that can move to the host; "
			 "the rest is memory of this call, device-only, adopted or write-once memory, objects whose "
			 "device address or handle the program has, and objects with inputs in progress",
			 name_of(bound), (unsigned long)sizes.all, (unsigned long)(sizes.all - sizes.absent),
			 device->name, (unsigned long)device->caps.memory_size, (unsigned long)free,
			 (unsigned long)others);
}

/* Bytes that are missing on @home for @size bytes of objects from elsewhere and for the call's objects there. */
static uint64_t missing(const struct adsm_bound *bound, struct adsm_home *home, uint64_t size)
{
	struct adsm_object *object;
	uint64_t free;

	/* Copies can end. @size has the objects of this call's wanted copies; copies of other calls are wanted for a
	 * short time. */
	free = adsm_objects_memory_free(home) + adsm_replicas_wanted(home);
	for (size_t i = 0; i < bound->n_pointers; i++) {
		const uintptr_t p = (uintptr_t)bound->pointers[i].p;

		object = adsm_object_find_locked(home, p);
		if (!object && bound->pointers[i].raw)
			object = adsm_object_find_locked(home, p - 1);
		if (object && !object->memory && adsm_pointer_reaches(&bound->pointers[i], object) &&
		    !adsm_bound_names(bound, object, i))
			size += object->span;
	}
	for (uint32_t i = 0; free < size && (object = adsm_object_slot(i)); i++)
		if (may_leave_any_time(object, home) && !adsm_bound_names(bound, object, bound->n_pointers))
			free += object->span;
	return free < size ? size - free : 0;
}

bool adsm_residency_could_fit(const struct adsm_bound *bound, struct adsm_home *home, uint64_t size, bool waits)
{
	uint64_t lacking, transit = 0;
	struct adsm_sigset old;

	adsm_home_lock(home, &old);
	while ((lacking = missing(bound, home, size)) && (transit = in_transit(home)) && waits)
		adsm_home_wait(home);
	adsm_home_unlock(home, &old);
	return lacking <= transit;
}

/* ---- displacing */

/* Should @object be displaced before @other? Objects of calls that run come last, then those that calls have used
 * later. */
static bool is_older(const struct adsm_object *object, const struct adsm_object *other)
{
	bool runs = adsm_object_user(object), other_runs = adsm_object_user(other);

	return runs != other_runs ? other_runs : adsm_object_last_use(object) < adsm_object_last_use(other);
}

/* The object that calls have not used for the longest time, or NULL. */
static struct adsm_object *oldest(const struct adsm_home *home)
{
	struct adsm_object *object, *found = NULL;

	for (uint32_t i = 0; (object = adsm_object_slot(i)); i++)
		if (may_leave(object, home) && (!found || is_older(object, found)))
			found = object;
	return found;
}

/* How many blocks from @b on, of @piece bytes, can be fetched together; 0: the host has block @b. */
static uint32_t run_of(const struct adsm_object *object, uint32_t b, size_t piece)
{
	enum adsm_block_event event;
	const size_t most = object->blocks.n == 1 ? 1 : piece >> object->blocks.shift;

	return adsm_blocks_range(&object->blocks, false, (size_t)b << object->blocks.shift, object->size,
				 most ? most : 1, &event);
}

/* Bytes of the host's pages that a fetch of the whole object would still need. */
static size_t missing_pages(const struct adsm_object *object)
{
	size_t size = 0;

	for (uint32_t b = 0; b < object->blocks.n; b++)
		if (adsm_blocks_lack(&object->blocks, b) && !(object->blocks.at[b].flags & ADSM_BLOCK_BACKED))
			size += adsm_run_span(object, b, 1);
	return size;
}

/*
 * Take the host's pages for an object before anything is fetched. Without memory the system might end the process
 * instead. Returns 1 if the lock was given back, 0, or -ENOMEM.
 */
static int take_pages(struct adsm_object *object)
{
	struct adsm_home *home = object->home;
	size_t needed = missing_pages(object);
	uint64_t available;
	int error = 0;

	if (!needed)
		return 0;
	object->blocks.n_busy++;	/* no thread frees it meanwhile */
	adsm_unlock(&home->lock);
	available = adsm_residency_available();
	if (needed > available)
		error = adsm_fail(-ENOMEM, "%s should move to the host for a call: this takes %zu bytes, but the host "
				  "has %lu available", ADSM_THE_OBJECT(object), needed, (unsigned long)available);
	else if (adsm_os_populate(object->alias, object->span, true))
		error = adsm_fail(-ENOMEM, "%s should move to the host for a call, but the host has no memory for its "
				  "%zu bytes", ADSM_THE_OBJECT(object), object->span);
	adsm_lock(&home->lock);
	if (!error)
		adsm_blocks_set_flags(&object->blocks, 0, object->blocks.n, ADSM_BLOCK_BACKED);
	object->blocks.n_busy--;
	adsm_home_notify(home);
	return error ? error : 1;
}

int adsm_residency_step(struct adsm_object *object, uint64_t seq, size_t piece, size_t *fetched,
			struct adsm_sigset *old)
{
	struct adsm_home *home = object->home;
	uint32_t b = 0, n;
	int error;

	if (!seq) {
		if (object->blocks.n_busy || object->blocks.n_sending) {
			if (!adsm_send_queued(home))
				adsm_home_wait(home);
			return 0;
		}
		error = adsm_object_collect(object, &seq);
		if (error < 0)
			return adsm_fail(error, "the engine cannot collect the writes to %s: %s",
					 ADSM_THE_OBJECT(object), adsm_error_string(error));
	}
	if (seq)
		return adsm_wait_call_unlocked(home, seq, old);
	if (!adsm_blocks_n_lacking(&object->blocks))
		return 1;
	if (adsm_object_lost(object))
		return adsm_fail(-ENODEV, "%s was lost with its device: %s", ADSM_THE_OBJECT(object),
				 adsm_home_reason(home, -ENODEV));
	error = take_pages(object);
	if (error)
		return error < 0 ? error : 0;
	while (!(n = run_of(object, b, piece)))
		b++;
	error = adsm_blocks_fetch(object, b, n);
	if (error)
		return adsm_fail(error, "%s could not be moved to the host: %s", ADSM_THE_OBJECT(object),
				 adsm_home_reason(home, error));
	*fetched += adsm_run_size(object, b, n);
	return 0;
}

/* Displace one object, unless it was freed, or is used meanwhile in a way that may take any time. */
static int displace_oldest(const struct adsm_bound *bound, struct adsm_sigset *old)
{
	struct adsm_home *home = bound->home;
	struct adsm_object *object = oldest(home);
	const uint64_t start_ns = adsm_os_now_ns();
	size_t fetched = 0;
	int result = 0;

	if (!object && in_transit(home)) {
		adsm_home_wait(home);
		return 0;
	}
	if (!object)
		return kept_by_another(bound) ? -EAGAIN :
			adsm_fail(-ENOMEM, "kernel '%s': %s has no memory left for the objects of the call",
				  name_of(bound), home->device->name);
	while (!result && may_leave(object, home))
		result = adsm_residency_step(object, adsm_object_user(object), ADSM_RESIDENCY_PIECE,
					     &fetched, old);
	adsm_note_displaced(object, result == 1, fetched, start_ns);
	if (result == 1)
		adsm_object_displace(object);
	return result < 0 ? result : 0;
}

/* Wait for a call that uses a replica, which then need not stay. Returns 1, 0 if there is none, or a negative errno. */
static int wait_for_replica(struct adsm_home *home, struct adsm_sigset *old)
{
	const uint64_t seq = adsm_replicas_user(home);
	int error;

	if (!seq)
		return 0;
	error = adsm_wait_call_unlocked(home, seq, old);
	return error ? error : 1;
}

/* Get memory for one object of the call. */
static int place(const struct adsm_bound *bound, struct adsm_object *object, struct adsm_sigset *old)
{
	const struct adsm_cause cause = adsm_cause;
	const uint64_t generation = object->generation;
	struct adsm_error_kept before;
	int error = 0;

	object->round = bound->home->residents.round;
	adsm_error_keep(&before);
	while (!error && object->live && !object->freeing && object->generation == generation && !object->memory) {
		if (adsm_objects_memory_free(bound->home) >= object->span) {
			error = adsm_object_place(object);
			if (error == -EINVAL)
				error = 0;	/* it was freed */
			if (error != -ENOMEM)
				break;
		}
		/* The device is full, or its free memory is in pieces. */
		error = wait_for_replica(bound->home, old);
		if (error) {
			error = error < 0 ? error : 0;
			continue;
		}
		if (adsm_observes(~0u))
			adsm_set_cause(ADSM_WHY_ROOM, (void *)cause.where, cause.name);
		error = displace_oldest(bound, old);
		if (adsm_observes(~0u))
			adsm_cause = cause;
	}
	if (!error)
		adsm_error_back(&before);
	return error;
}

/* Get memory for all objects of the call. Returns 1 if the lock was given back, 0, or a negative errno. */
static int place_all(const struct adsm_bound *bound, struct adsm_sigset *old)
{
	struct adsm_object *object;
	int error = 0, any = 0;

	for (size_t i = 0; i < bound->n_uses && !error; i++) {
		object = bound->uses[i].object;
		if (object->memory || adsm_use_is_gone(&bound->uses[i]))
			continue;
		error = any ? 0 : check_fits(bound);
		any = 1;
		if (!error)
			error = place(bound, object, old);
	}
	for (uint32_t i = 0; !error && reaches_all(bound) && (object = adsm_object_slot(i)); i++) {
		if (!is_reached(bound, object) || object->memory)
			continue;
		error = any ? 0 : check_fits(bound);
		any = 1;
		if (!error)
			error = place(bound, object, old);
	}
	return error ? error : any;
}

/* Forget the objects of the pointers: the lock was given back. */
static void unbind(struct adsm_bound *bound)
{
	bound->n_uses = 0;
	for (size_t i = 0; i < bound->n_pointers; i++) {
		struct adsm_launch_arg *arg = bound->pointers[i].arg;

		if (arg) {
			arg->memory = NULL;
			arg->offset = (uintptr_t)bound->pointers[i].p;
		}
	}
}

int adsm_bind_resident(struct adsm_bound *bound, struct adsm_sigset *old)
{
	int result;

	if (bound->n_uses)
		unbind(bound);	/* the call has waited since */
	do {
		result = adsm_bind_objects(bound);
		if (!result && bound->home->residents.n_absent)
			result = place_all(bound, old);
		if (result == 1)
			unbind(bound);
	} while (result == 1);
	return result;
}
