/* SPDX-License-Identifier: MIT */
/* moves.c - see moves.h. */
#include "run/call/moves.h"

#include <errno.h>

#include "base/log.h"
#include "core/block.h"
#include "core/observe.h"
#include "core/replica.h"
#include "core/resident.h"
#include "run/wait/enter.h"
#include "run/wait/helpers.h"
#include "run/call/conflict.h"
#include "run/call/replicate.h"
#include "run/call/residency.h"
#include "run/object/replica_end.h"
#include "run/wait/wait.h"

static struct adsm_mutex mutex = ADSM_MUTEX_INIT(ADSM_RANK_MOVES);
static struct adsm_bound leaving;	/* the object that moves, as what a call writes; with the mutex */

void adsm_moves_begin(void)
{
	adsm_mutex_lock(&mutex);
}

void adsm_moves_end(struct adsm_home *home)
{
	adsm_replicas_unwant(home);
	adsm_mutex_unlock(&mutex);
}

/* ---- one object */

const char *adsm_moves_why_not(const struct adsm_object *object, const struct adsm_home *to)
{
	if (object->device_only)
		return "it is device-only memory";
	if (object->adopted)
		return "it is memory of the program's own driver";
	if (object->fixed)
		return "it is a variable of a module, and each device has its own";
	if (!object->home->residents.on || !to->residents.on)
		return "the driver chooses its address, its memory is unified, or ADSM_OVERSUBSCRIBE=off, ADSM_PAPER=1 "
			"or ADSM_EVICT_BATCH=1 is set";
	if (object->pinned)
		return "the program has its device address or handle, or a service allocated it";
	return adsm_object_can_be_displaced(object) ? NULL : "its protocol refuses accesses of the CPU";
}

/* Lock held. */
static int check(const struct adsm_bound *bound, const struct adsm_named_pointer *pointer,
		 const struct adsm_object *object)
{
	const char *why = adsm_moves_why_not(object, bound->home);

	if (object->freeing)
		return adsm_fail(-EINVAL, "kernel '%s', argument '%s': %p is not in a live object",
				 bound->kernel->info->name, pointer->what, pointer->p);
	if (why)
		return adsm_fail(-EINVAL, "kernel '%s', argument '%s': %s is on device %d and cannot move to device "
				 "%d: %s", bound->kernel->info->name, pointer->what, ADSM_THE_OBJECT(object),
				 object->home->index, bound->home->index, why);
	if (object->blocks.n_holds)
		return adsm_fail(-EBUSY, "%s is held: call adsmUnhold() first", ADSM_THE_OBJECT(object));
	if (object->inputs)
		return adsm_fail(-EBUSY, "%s cannot move to device %d: a system call or a loan is writing it",
				 ADSM_THE_OBJECT(object), bound->home->index);
	return 0;
}

/*
 * The object of a pointer, with its home locked; NULL: there is none, or it is at the home of the call. The call itself
 * checks the pointer.
 */
static struct adsm_object *find(const struct adsm_bound *bound, const struct adsm_named_pointer *pointer,
				struct adsm_sigset *ret_old)
{
	struct adsm_object *object = adsm_object_enter(pointer->p, ret_old);

	/* As in bind.c: the pointer may be to the end of an object. */
	if (!object && pointer->raw)
		object = adsm_object_enter((const char *)pointer->p - 1, ret_old);
	if (object && object->home == bound->home) {
		adsm_home_unlock(object->home, ret_old);
		object = NULL;
	}
	return object;
}

/* From now on calls of the object's device that use it wait. Otherwise one could follow the other without an end. */
static void keep_users_out(struct adsm_conflict *conflict, struct adsm_object *object, struct adsm_home *from,
			   uint64_t generation)
{
	struct adsm_sigset old;

	leaving.home = from;
	leaving.named = true;
	leaving.uses = leaving.few_uses;
	leaving.uses[0] = (struct adsm_use){ object, generation, ADSM_ACCESS_INOUT };
	leaving.n_uses = 1;
	adsm_conflict_init(conflict, &leaving, 0);
	adsm_mutex_lock(&from->call_mutex);	/* a call that is about to begin comes first */
	adsm_home_lock(from, &old);
	adsm_conflict_enter(conflict);
	adsm_home_unlock(from, &old);
	adsm_mutex_unlock(&from->call_mutex);
}

/* Wait for the calls that use the object. Other calls of its device begin meanwhile. */
static int wait_for_users(const struct adsm_object *object, struct adsm_home *from)
{
	struct adsm_sigset old;
	uint64_t seq;
	int error;

	do {
		adsm_home_lock(from, &old);
		adsm_retire(from);
		seq = adsm_object_is_at(object, from) && object->live ? adsm_object_user(object) : 0;
		adsm_home_unlock(from, &old);
		error = adsm_wait_call(from, seq);
	} while (!error && seq);
	return error;
}

/* Do all pointers of the call to the object have this access, and does no other pointer reach it? */
static bool only(const struct adsm_bound *bound, const struct adsm_object *object, unsigned access)
{
	bool all = bound->named;

	for (size_t i = 0; i < bound->n_pointers && all; i++) {
		const struct adsm_named_pointer *pointer = &bound->pointers[i];

		all = pointer->access == access ||
			(uintptr_t)pointer->p - object->start >= object->span + pointer->raw;
	}
	return all;
}

/* The bytes that only the device has do not matter any more. Only when no call uses them, and none of them moves. */
static void drop_bytes(struct adsm_object *object)
{
	struct adsm_blocks *blocks = &object->blocks;

	if (adsm_object_user(object) || blocks->n_busy || blocks->n_sending ||
	    blocks->unsent >> blocks->protocol->initial & 1)
		return;
	for (uint32_t b = 0; b < blocks->n; b++)
		if (adsm_blocks_lack(blocks, b))
			adsm_blocks_discard(blocks, b, 1);
	adsm_object_mark_open(object);
}

static int move(const struct adsm_bound *bound, const struct adsm_named_pointer *pointer, struct adsm_object *object,
		struct adsm_home *from, uint64_t generation)
{
	const uint64_t start_ns = adsm_os_now_ns();
	struct adsm_conflict conflict;
	struct adsm_sigset old;
	size_t fetched = 0;
	bool moved = false;
	int result;

	keep_users_out(&conflict, object, from, generation);
	result = wait_for_users(object, from);
	/* With this mutex no call of the object's device begins. */
	adsm_mutex_lock(&from->call_mutex);
	adsm_home_lock(from, &old);
	adsm_retire(from);
	while (result >= 0 && !moved && adsm_object_is_at(object, from) && object->live && !object->freeing &&
	       object->generation == generation) {
		result = check(bound, pointer, object);
		if (!result && only(bound, object, ADSM_ACCESS_OUT))
			drop_bytes(object);
		if (!result)
			result = adsm_residency_step(object, adsm_object_user(object), &fetched, &old);
		if (result == 1 && object->memory) {
			adsm_object_displace(object);
		} else if (result == 1) {
			adsm_act_inexact(object);
			adsm_object_move(object, bound->home);
			moved = true;
		}
	}
	adsm_note_moved(object, from->index, bound->home->index, moved, fetched, start_ns);
	adsm_home_unlock(moved ? bound->home : from, &old);
	adsm_mutex_unlock(&from->call_mutex);
	adsm_conflict_end(&conflict);
	return result < 0 ? result : 0;
}

/* ---- all objects of a call */

bool adsm_moves_only_reads(const struct adsm_bound *bound, const struct adsm_object *object)
{
	return only(bound, object, ADSM_ACCESS_IN);
}

/* Move the object of a pointer, if it is elsewhere; or copy it, if the call only reads it. */
static int gather(struct adsm_bound *bound, const struct adsm_named_pointer *pointer)
{
	struct adsm_sigset old;
	struct adsm_object *object = find(bound, pointer, &old);
	struct adsm_home *from = object ? object->home : NULL;
	uint64_t generation = object ? object->generation : 0;
	bool copies;
	int result;

	if (!object)
		return 0;
	copies = adsm_moves_only_reads(bound, object) && adsm_replicate_can(object, bound->home);
	adsm_home_unlock(from, &old);
	result = copies ? adsm_replicate(object, generation, from, bound->home, NULL) : 1;
	if (result <= 0) {
		bound->replicas |= !result;
		return result;
	}
	result = adsm_replicas_end(object, true);
	return result ? result : move(bound, pointer, object, from, generation);
}

/* Can all objects move that have to? */
static int check_all(const struct adsm_bound *bound)
{
	struct adsm_sigset old;
	int error = 0;

	for (size_t i = 0; !error && i < bound->n_pointers; i++) {
		struct adsm_object *object = find(bound, &bound->pointers[i], &old);

		if (!object)
			continue;
		error = check(bound, &bound->pointers[i], object);
		adsm_home_unlock(object->home, &old);
	}
	return error;
}

int adsm_moves_gather(struct adsm_bound *bound, const void *where)
{
	struct adsm_home *to = bound->home;
	int error = to->device->backend->status(to->device);

	if (!error)
		error = check_all(bound);
	if (!error && adsm_evictor_start(to))
		error = adsm_fail(-ENOMEM, "cannot start a thread for early transfers (ulimit -u, ulimit -v)");
	adsm_because(ADSM_WHY_MOVE, where, bound->kernel->info->name);
	for (size_t i = 0; !error && i < bound->n_pointers; i++)
		error = gather(bound, &bound->pointers[i]);
	adsm_because(ADSM_WHY_OTHER, NULL, "");
	return error;
}
