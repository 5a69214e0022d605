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
#include "run/object/kernel.h"
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

/* Lock held. */
static int check(const struct adsm_bound *bound, const struct adsm_named_pointer *pointer,
		 const struct adsm_object *object)
{
	const char *why = adsm_object_why_fixed(object, bound->home);

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

	for (size_t i = 0; i < bound->n_pointers && all; i++)
		all = bound->pointers[i].access == access || !adsm_pointer_reaches(&bound->pointers[i], object);
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

/*
 * One step of an object on its way to another home. At the end the thread has the lock of @to, not that of the object's
 * home. Returns 1 then, 0 to look again, or a negative errno.
 */
static int leave(struct adsm_object *object, struct adsm_home *to, size_t *fetched, struct adsm_sigset *old)
{
	int result = adsm_residency_step(object, adsm_object_user(object), ADSM_RESIDENCY_PIECE, fetched, old);

	if (result == 1 && object->memory) {
		adsm_object_displace(object);
		return 0;
	}
	if (result == 1) {
		adsm_act_inexact(object);
		adsm_object_move(object, to);
	}
	return result;
}

static int move(const struct adsm_bound *bound, const struct adsm_named_pointer *pointer, struct adsm_object *object,
		struct adsm_home *from, uint64_t generation)
{
	const uint64_t start_ns = adsm_os_now_ns();
	struct adsm_conflict conflict;
	struct adsm_sigset old;
	size_t fetched = 0;
	int result;

	keep_users_out(&conflict, object, from, generation);
	result = wait_for_users(object, from);
	/* With this mutex no call of the object's device begins. */
	adsm_mutex_lock(&from->call_mutex);
	adsm_home_lock(from, &old);
	adsm_retire(from);
	while (!result && adsm_object_is_same(object, from, generation)) {
		result = check(bound, pointer, object);
		if (!result && only(bound, object, ADSM_ACCESS_OUT))
			drop_bytes(object);
		if (!result)
			result = leave(object, bound->home, &fetched, &old);
	}
	adsm_note_moved(object, from->index, bound->home->index, result == 1, fetched, start_ns);
	adsm_home_unlock(result == 1 ? bound->home : from, &old);
	adsm_mutex_unlock(&from->call_mutex);
	adsm_conflict_end(&conflict);
	return result < 0 ? result : 0;
}

/* Could the object move now if no call used it? Not if a call after @last_seq has used it. Lock held. */
static bool may_move(const struct adsm_object *object, const struct adsm_home *to, uint64_t last_seq)
{
	return adsm_object_last_use(object) <= last_seq && !object->blocks.n_holds && !object->inputs &&
		!adsm_object_why_fixed(object, to);
}

/* Get all bytes to the host, while other calls of the device begin. Returns 1, or like adsm_moves_ahead(). */
static int fetch_ahead(struct adsm_object *object, uint64_t generation, struct adsm_home *from, struct adsm_home *to,
		       uint64_t last_seq, size_t *fetched)
{
	struct adsm_sigset old;
	int result = 0;

	adsm_home_lock(from, &old);
	adsm_retire(from);
	while (!result && adsm_object_is_same(object, from, generation) && may_move(object, to, last_seq)) {
		/* A call that is about to begin comes first. It may use the object. */
		if (from->gate)
			adsm_home_wait(from);
		else
			result = adsm_residency_step(object, adsm_object_user(object), ADSM_PREFETCH_PIECE, fetched,
						     &old);
	}
	adsm_home_unlock(from, &old);
	return result;
}

/*
 * Call adsm_moves_begin(), and take the call mutex of @from. This function never waits for that mutex between
 * adsm_moves_begin() and adsm_moves_end(). The holder of the mutex may wait for a running kernel. This kernel may wait
 * for a unit that another call sets, and the objects of that call may have to move first.
 */
static void begin_at(struct adsm_home *from, struct adsm_home *to)
{
	for (;;) {
		adsm_moves_begin();
		if (adsm_mutex_trylock(&from->call_mutex))
			return;
		/* Let that call pass. Then wait until the mutex is free, and try again. */
		adsm_moves_end(to);
		adsm_mutex_lock(&from->call_mutex);
		adsm_mutex_unlock(&from->call_mutex);
	}
}

int adsm_moves_ahead(struct adsm_object *object, uint64_t generation, struct adsm_home *from, struct adsm_home *to,
		     uint64_t last_seq)
{
	const uint64_t start_ns = adsm_os_now_ns();
	struct adsm_sigset old;
	size_t fetched = 0;
	int result = to->device->backend->status(to->device);

	if (!result && adsm_evictor_start(to))
		result = -ENOMEM;
	if (!result)
		result = fetch_ahead(object, generation, from, to, last_seq, &fetched);
	if (result != 1)
		return result;
	result = adsm_replicas_wait(object);
	if (result)
		return result;
	begin_at(from, to);
	if (adsm_replicas_end_idle(object)) {
		adsm_home_lock(from, &old);
		adsm_retire(from);
		/* Now no call begins that could use the object. */
		while (!result && adsm_object_is_same(object, from, generation) && may_move(object, to, last_seq) &&
		       !adsm_object_user(object))
			result = leave(object, to, &fetched, &old);
		adsm_note_moved(object, from->index, to->index, result == 1, fetched, start_ns);
		adsm_home_unlock(result == 1 ? to : from, &old);
	}
	adsm_mutex_unlock(&from->call_mutex);
	adsm_moves_end(to);
	return result;
}

/* ---- all objects of a call */

bool adsm_moves_only_reads(const struct adsm_bound *bound, const struct adsm_object *object)
{
	return only(bound, object, ADSM_ACCESS_IN);
}

/* Does the call get a copy of the object? Lock of the object's home held. */
static bool is_copied(const struct adsm_bound *bound, const struct adsm_object *object)
{
	return adsm_moves_only_reads(bound, object) && adsm_replicate_can(object, bound->home);
}

/*
 * Move the object of a pointer, if it is elsewhere; or copy it, if the call only reads it. @dropped: which of the
 * objects: those whose bytes do not matter any more, or the others.
 */
static int gather(struct adsm_bound *bound, const struct adsm_named_pointer *pointer, bool dropped)
{
	struct adsm_sigset old;
	struct adsm_object *object = find(bound, pointer, &old);
	struct adsm_home *from = object ? object->home : NULL;
	uint64_t generation = object ? object->generation : 0;
	bool copies;
	int result;

	if (!object)
		return 0;
	if (only(bound, object, ADSM_ACCESS_OUT) != dropped) {
		adsm_home_unlock(from, &old);
		return 0;
	}
	copies = is_copied(bound, object);
	adsm_home_unlock(from, &old);
	result = copies ? adsm_replicate(object, generation, from, bound->home, NULL) : 1;
	if (result <= 0) {
		bound->replicas |= !result;
		return result;
	}
	result = adsm_replicas_end(object, true);
	return result ? result : move(bound, pointer, object, from, generation);
}

/* Add what the object of a pointer, if it is elsewhere, needs on the device of the call. */
static int check_one(const struct adsm_bound *bound, size_t i, uint64_t *size)
{
	struct adsm_sigset old;
	struct adsm_object *object = find(bound, &bound->pointers[i], &old);
	int error;

	if (!object)
		return 0;
	error = check(bound, &bound->pointers[i], object);
	/* Also if the device has a copy: the memory of copies counts as free. */
	if (!error && !adsm_bound_names(bound, object, i))
		*size += object->span;
	adsm_home_unlock(object->home, &old);
	return error;
}

/* Can all objects move that have to, and is there room for them? */
static int check_all(const struct adsm_bound *bound)
{
	const struct adsm_device *device = bound->home->device;
	uint64_t size = 0;
	int error = 0;

	for (size_t i = 0; !error && i < bound->n_pointers; i++)
		error = check_one(bound, i, &size);
	if (error || !size || adsm_residency_could_fit(bound, bound->home, size, true))
		return error;
	return adsm_fail(-ENOMEM, "kernel '%s': its objects do not fit on device %d, %s, of %lu bytes: %lu bytes of "
			 "them are on other devices", bound->kernel->info->name, bound->home->index, device->name,
			 (unsigned long)device->caps.memory_size, (unsigned long)size);
}

int adsm_moves_gather(struct adsm_bound *bound, const void *where)
{
	struct adsm_home *to = bound->home;
	int error = to->device->backend->status(to->device);
	struct adsm_entry *entry;

	/* A call that cannot run moves nothing. */
	if (!error)
		error = adsm_kernel_entry(bound->kernel, to, &entry);
	if (!error)
		error = check_all(bound);
	if (!error && adsm_evictor_start(to))
		error = adsm_fail(-ENOMEM, "cannot start a thread for early transfers (ulimit -u, ulimit -v)");
	adsm_because(ADSM_WHY_MOVE, where, bound->kernel->info->name);
	for (size_t i = 0; !error && i < bound->n_pointers; i++)
		error = gather(bound, &bound->pointers[i], false);
	/* Now little can fail. */
	for (size_t i = 0; !error && i < bound->n_pointers; i++)
		error = gather(bound, &bound->pointers[i], true);
	adsm_because(ADSM_WHY_OTHER, NULL, "");
	return error;
}
