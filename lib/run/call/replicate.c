/* SPDX-License-Identifier: MIT */
/* replicate.c - see replicate.h. */
#include "run/call/replicate.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/log.h"
#include "core/block.h"
#include "core/copier.h"
#include "core/objects.h"
#include "core/observe.h"
#include "core/replica.h"
#include "run/call/residency.h"
#include "run/wait/wait.h"

#define PASSES 3	/* sends of what the CPU writes meanwhile; after them the replica is used only once */

/* A replica that is being made. */
struct making {
	struct adsm_object *object;
	uint64_t generation;
	uintptr_t start;
	size_t size, span;
	struct adsm_home *from, *to;
	struct adsm_rows *rows;		/* NULL: the replica is only read */
	struct adsm_replica *replica;
};

bool adsm_replicate_can(const struct adsm_object *object, const struct adsm_home *to)
{
	const struct adsm_device_caps *caps = &to->device->caps;

	return object->memory && !atomic_load(&object->home->device->lost) &&
		(caps->own_addresses || !caps->given_address);
}

/* Is it still the same object, and at its home? Lock of the home held. */
static bool is_there(const struct making *making)
{
	return adsm_object_is_same(making->object, making->from, making->generation);
}

/* A call of the object's home that the copy has to wait for. If accesses are not detected, the protocol fetches only
 * when no call uses the object. */
static uint64_t must_wait(const struct adsm_object *object)
{
	return object->blocks.detects ? adsm_object_writer(object) : adsm_object_user(object);
}

/* Does the replica have the object's bytes? Lock of the object's home held. */
static bool is_current(const struct adsm_replica *replica, struct adsm_object *object)
{
	uint64_t seq;

	return replica->memory && object->blocks.detects && !adsm_object_writer(object) &&
		adsm_object_collect(object, &seq) >= 0 && !seq && !adsm_blocks_n_unsent(&object->blocks) &&
		replica->version == object->version && replica->unnamed_seq == adsm_object_unnamed(object);
}

bool adsm_replicate_has(struct adsm_home *home, struct adsm_object *object)
{
	struct adsm_home *from = adsm_object_home(object);
	const struct adsm_replica *replica;
	uint64_t version = 0, unnamed_seq = 0;
	struct adsm_sigset old;
	bool has;

	adsm_home_lock(home, &old);
	replica = adsm_replica_find(home, object);
	if (replica && replica->memory) {
		version = replica->version;
		unnamed_seq = replica->unnamed_seq;
	}
	adsm_home_unlock(home, &old);
	if (!version)
		return false;
	adsm_home_lock(from, &old);
	has = adsm_object_is_at(object, from) && version == object->version &&
		unnamed_seq == adsm_object_unnamed(object) && !adsm_blocks_n_unsent(&object->blocks);
	adsm_home_unlock(from, &old);
	return has;
}

/* ---- the device's side */

/* Find or add the replica. */
static struct adsm_replica *want(const struct making *making)
{
	struct adsm_replica *made = calloc(1, sizeof(*made)), *replica;
	struct adsm_sigset old;

	adsm_home_lock(making->to, &old);
	replica = adsm_replica_find(making->to, making->object);
	if (!replica && made) {
		made->object = making->object;
		made->start = making->start;
		made->size = making->size;
		made->span = making->span;
		adsm_replica_add(making->to, made);
		replica = made;
	}
	if (replica)
		adsm_replica_want(making->to, replica);
	adsm_home_unlock(making->to, &old);
	if (replica != made)
		free(made);
	return replica;
}

/* The replica could not be made. It ends, unless a call still uses it. */
static void give_back(const struct making *making)
{
	struct adsm_sigset old;

	adsm_home_lock(making->to, &old);
	making->replica->version = 0;
	if (!adsm_replica_user(making->to, making->replica))
		adsm_replica_end(making->to, making->replica);
	adsm_home_unlock(making->to, &old);
}

/* Wait for a call. Lock held, which is given back meanwhile. */
static int wait_for(struct adsm_home *home, uint64_t seq, struct adsm_sigset *old)
{
	return seq ? adsm_wait_call_unlocked(home, seq, old) : 0;
}

/* Wait for the calls that use a replica. */
static int wait_for_users(struct adsm_home *home, const struct adsm_replica *replica)
{
	struct adsm_sigset old;
	uint64_t seq;
	int error;

	adsm_home_lock(home, &old);
	adsm_retire(home);
	do {
		seq = adsm_replica_user(home, replica);
		error = wait_for(home, seq, &old);
	} while (!error && seq);
	adsm_home_unlock(home, &old);
	return error;
}

/* Get memory for the replica. Returns 1 if the device has no room. */
static int get_memory(const struct making *making)
{
	struct adsm_device *device = making->to->device;
	struct adsm_replica *replica = making->replica;
	struct adsm_error_kept before;
	struct adsm_memory *memory;
	struct adsm_sigset old;
	int error;

	if (replica->memory)
		return 0;
	adsm_home_lock(making->to, &old);
	replica->placing = true;
	adsm_home_unlock(making->to, &old);
	adsm_error_keep(&before);
	do
		error = device->backend->alloc(device, replica->span, replica->start, &memory);
	while (error == -ENOMEM && adsm_objects_give_up_oldest(making->to));
	if (!error || error == -ENOMEM)
		adsm_error_back(&before);
	adsm_home_lock(making->to, &old);
	replica->placing = false;
	if (!error)
		adsm_replica_set_memory(making->to, replica, memory);
	adsm_home_notify(making->to);
	adsm_home_unlock(making->to, &old);
	return error == -ENOMEM ? 1 : error;
}

/* ---- the home's side */

/*
 * One step until the host has all bytes, and the home's device too, so that a later write is noticed. Lock held, which
 * may be given back. Returns 1 at the end, 0 to look again, or a negative errno.
 */
static int settle_step(struct adsm_object *object, unsigned *passes, struct adsm_sigset *old)
{
	size_t fetched = 0;
	int result;

	if (object->blocks.n_holds)
		return adsm_fail(-EBUSY, "%s is held: call adsmUnhold() first", ADSM_THE_OBJECT(object));
	if (object->inputs)
		return adsm_fail(-EBUSY, "%s cannot be copied to another device: a system call or a loan is writing "
				 "it", ADSM_THE_OBJECT(object));
	result = adsm_residency_step(object, must_wait(object), ADSM_RESIDENCY_PIECE, &fetched, old);
	if (result <= 0 || !object->blocks.detects || !object->memory || !adsm_blocks_n_unsent(&object->blocks) ||
	    *passes == PASSES)
		return result;
	++*passes;
	result = adsm_object_flush(object);
	return !result ? 0 : adsm_fail(result, "%s could not be sent: %s", ADSM_THE_OBJECT(object),
				       adsm_error_string(result));
}

/* Get the bytes to the host. On success the object is busy. Returns 1 if it must move instead, or was freed. */
static int settle(const struct making *making)
{
	struct adsm_object *object = making->object;
	struct adsm_replica *replica = making->replica;
	struct adsm_home *from = making->from;
	struct adsm_sigset old;
	unsigned passes = 0;
	int result;

	/* Other calls of the home's device begin while this one ends, but not later. */
	adsm_home_lock(from, &old);
	result = is_there(making) ? wait_for(from, must_wait(object), &old) : 0;
	adsm_home_unlock(from, &old);
	adsm_mutex_lock(&from->call_mutex);
	adsm_home_lock(from, &old);
	adsm_retire(from);
	while (!result) {
		if (!is_there(making) || !object->memory)
			result = -ESTALE;
		else
			result = settle_step(object, &passes, &old);
	}
	if (result == 1 && is_there(making) && object->memory) {
		const bool known = object->blocks.detects && !adsm_blocks_n_unsent(&object->blocks);

		replica->version = known ? object->version : 0;
		replica->unnamed_seq = adsm_object_unnamed(object);
		adsm_act_inexact(object);
		object->blocks.n_busy++;	/* no call begins, and no thread frees or moves it meanwhile */
		result = 0;
	}
	adsm_home_unlock(from, &old);
	adsm_mutex_unlock(&from->call_mutex);
	return result == -ESTALE ? 1 : result;
}

static int copy(const struct making *making, struct adsm_range range)
{
	struct adsm_object *object = making->object;
	uint64_t start = adsm_os_now_ns(), ns;
	int error;

	if (!range.size)
		return 0;
	error = making->to->device->backend->to_device(making->replica->memory, range.offset,
						       object->alias + range.offset, range.size, NULL);
	if (error)
		return error;
	ns = adsm_os_now_ns() - start;
	adsm_spent.moved_ns += ns;
	adsm_rate_add(making->to, ADSM_TO_DEVICE, range.size, ns);
	adsm_note_transfer(object, ADSM_TO_DEVICE, range.offset, range.size, start, ns);
	return 0;
}

static int copy_settled(struct making *making)
{
	struct adsm_object *object = making->object;
	struct adsm_sigset old;
	int error = making->rows ? 0 : copy(making, (struct adsm_range){ 0, making->size });

	for (size_t i = 0; making->rows && i < making->rows->n && !error; i++)
		error = copy(making, making->rows->ranges[i]);
	if (making->rows)
		making->replica->version = 0;
	if (error)
		adsm_fail(error, "%s could not be copied to device %d: %s", ADSM_THE_OBJECT(object),
			  making->to->index, adsm_home_reason(making->to, error));
	adsm_home_lock(making->from, &old);
	object->blocks.n_busy--;
	adsm_home_notify(making->from);
	adsm_home_unlock(making->from, &old);
	return error;
}

/* ---- both */

/* Make the wanted replica current. */
static int make(struct making *making)
{
	struct adsm_home *from = making->from;
	struct adsm_sigset old;
	bool there, current;
	int result;

	adsm_home_lock(from, &old);
	adsm_retire(from);
	there = is_there(making);
	current = there && !making->rows && is_current(making->replica, making->object);
	adsm_home_unlock(from, &old);
	if (current || !there)
		return !there;
	result = wait_for_users(making->to, making->replica);
	if (!result)
		result = get_memory(making);
	if (!result && making->rows)
		making->rows->memory = making->replica->memory;
	if (!result && making->rows && !making->rows->sends) {
		making->replica->version = 0;
		return 0;
	}
	if (!result)
		result = settle(making);
	return result ? result : copy_settled(making);
}

int adsm_replicate(struct adsm_object *object, uint64_t generation, struct adsm_home *from, struct adsm_home *to,
		   struct adsm_rows *rows)
{
	struct making making = { .object = object, .generation = generation, .from = from, .to = to, .rows = rows };
	struct adsm_sigset old;
	int result;

	adsm_home_lock(from, &old);
	making.start = object->start;
	making.size = object->size;
	making.span = object->span;
	result = is_there(&making) ? 0 : 1;
	adsm_home_unlock(from, &old);
	if (result)
		return result;
	making.replica = want(&making);
	if (!making.replica)
		return adsm_fail(-ENOMEM, "no memory for a copy of an object on device %d", to->index);
	result = make(&making);
	if (result)
		give_back(&making);
	/* What the host has can still move away from a lost device. */
	return result < 0 && atomic_load(&from->device->lost) ? 1 : result;
}
