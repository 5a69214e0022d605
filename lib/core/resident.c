/* SPDX-License-Identifier: MIT */
/* resident.c - see resident.h. */
#include "core/resident.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "core/copier.h"
#include "core/objects.h"
#include "core/observe.h"
#include "core/options.h"
#include "core/place.h"

void adsm_residents_init(struct adsm_home *home)
{
	const struct adsm_device_caps *caps = &home->device->caps;

	home->residents.on = adsm_core_options.oversubscribe && !adsm_paper &&
		adsm_protocol_options.evict_batch != 1 && !caps->unified && !caps->dictates_address;
}

/* From now on a policy of @policies chooses the object's blocks. None is queued or being sent. */
static void join(struct adsm_object *object, struct adsm_policies *policies)
{
	struct adsm_blocks *blocks = &object->blocks;

	adsm_blocks_join(blocks, adsm_policy_of(policies, blocks->protocol), &object->home->sends);
	object->parked = policies == &object->home->residents.parked;
}

static void move_to(struct adsm_object *object, struct adsm_policies *policies)
{
	adsm_blocks_leave(&object->blocks);
	join(object, policies);
}

/* ---- taking memory */

struct taking {
	const struct adsm_object *object;
	struct adsm_memory *memory;
};

static int take(void *arg)
{
	struct taking *taking = arg;
	int error = adsm_place_alloc(taking->object, &taking->memory);

	if (!error)
		adsm_place_pattern(taking->memory);
	return error;
}

/* If the device is full, its kept memory is given up. A function of its own: the fault handler's stack may be small. */
__attribute__((noinline)) static int take_with_room(struct adsm_home *home, struct taking *taking)
{
	struct adsm_error_kept before;
	int error;

	adsm_error_keep(&before);
	do
		error = adsm_backend_run(home, take, taking);
	while (error == -ENOMEM && adsm_objects_give_up_oldest(home));
	if (!error)
		adsm_error_back(&before);
	return error;
}

int adsm_object_place(struct adsm_object *object)
{
	struct adsm_home *home = object->home;
	struct taking taking = { .object = object };
	int error = 0;

	object->blocks.n_busy++;	/* no call begins, and no thread frees or moves it meanwhile */
	while (object->placing)
		adsm_home_wait(home);
	if (object->freeing)
		error = adsm_fail(-EINVAL, "the object was freed meanwhile");
	if (error || object->memory)
		goto end;
	object->placing = true;
	adsm_unlock(&home->lock);
	error = adsm_in_fault ? adsm_backend_run(home, take, &taking) : take_with_room(home, &taking);
	adsm_lock(&home->lock);
	object->placing = false;
	if (!error) {
		adsm_residents_count(object, -1);
		object->memory = taking.memory;
		if (object->parked)
			move_to(object, &home->policies);
	}
end:
	object->blocks.n_busy--;
	adsm_home_notify(home);
	return error;
}

/* Without a sentence: if it fails, the caller does without the memory. */
static int place_quietly(struct adsm_object *object)
{
	struct adsm_error_kept before;
	int error;

	adsm_error_keep(&before);
	error = adsm_object_place(object);
	adsm_error_back(&before);
	return error;
}

void adsm_object_place_early(struct adsm_object *object)
{
	struct adsm_home *home = object->home;
	const uint64_t generation = object->generation;
	bool fits = home->residents.absent_size <= adsm_objects_memory_free(home);

	if (fits && !place_quietly(object))
		return;
	if (object->live && object->generation == generation && !object->memory && !object->parked)
		move_to(object, &home->residents.parked);
}

bool adsm_object_place_for_copy(struct adsm_object *object)
{
	struct adsm_home *home = object->home;
	const uint64_t generation = object->generation;

	if (object->memory)
		return true;
	/* In a fault handler only the copier may ask some backends. */
	if ((!adsm_in_fault || !home->has_service) && adsm_objects_memory_free(home) < object->span)
		return false;
	return !place_quietly(object) && object->generation == generation && object->memory;
}

int adsm_object_pin(struct adsm_object *object)
{
	int error = object->pinned ? 0 : adsm_object_place(object);

	if (!error)
		object->pinned = true;
	return error;
}

/* ---- giving memory up */

bool adsm_object_can_be_displaced(const struct adsm_object *object)
{
	const struct adsm_protocol *protocol = object->blocks.protocol;
	unsigned host_has = ~(unsigned)object->blocks.lacking & ((1u << protocol->n_states) - 1);

	for (unsigned state = 0; state < protocol->n_states; state++) {
		const struct adsm_step *steps = protocol->steps[state];

		if (!(host_has >> state & 1) && steps[ADSM_EVENT_READ].result == ADSM_RESULT_REFUSE)
			return false;
		if (host_has >> state & 1 && (steps[ADSM_EVENT_WRITE].result == ADSM_RESULT_REFUSE ||
					      !(object->blocks.unsent >> steps[ADSM_EVENT_WRITE].next & 1)))
			return false;
	}
	return true;
}

const char *adsm_object_why_fixed(const struct adsm_object *object, const struct adsm_home *to)
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
		return "the program has its device address or handle";
	return adsm_object_can_be_displaced(object) ? NULL : "its protocol refuses accesses of the CPU";
}

void adsm_object_displace(struct adsm_object *object)
{
	struct adsm_home *home = object->home;
	struct adsm_memory *memory = object->memory;
	struct adsm_blocks *blocks = &object->blocks;

	move_to(object, &home->residents.parked);
	adsm_blocks_clear_flags(blocks, 0, blocks->n, ADSM_BLOCK_EARLY);
	/* What comes back is sent whole. */
	adsm_blocks_may_be_written(blocks, 0, blocks->n);
	adsm_object_mark_open(object);
	object->memory = NULL;
	adsm_residents_count(object, 1);
	/* Until the memory is freed, no thread frees the object or gets memory at its address. */
	object->placing = true;
	blocks->n_busy++;
	adsm_unlock(&home->lock);
	home->device->backend->free(memory);
	adsm_lock(&home->lock);
	blocks->n_busy--;
	object->placing = false;
	adsm_home_notify(home);
}

void adsm_object_move(struct adsm_object *object, struct adsm_home *to)
{
	struct adsm_home *from = object->home;
	struct adsm_blocks *blocks = &object->blocks;
	const bool open = object->open;

	adsm_blocks_leave(blocks);
	adsm_object_mark_closed(object);
	adsm_residents_count(object, -1);
	from->n_undetected -= !blocks->detects;
	from->n_synced -= blocks->syncs;
	object->moving = true;
	__atomic_store_n(&object->home, to, __ATOMIC_RELEASE);
	adsm_home_notify(from);		/* threads that wait for the object look for it again */
	adsm_home_leave(from, NULL);

	adsm_lock(&to->lock);
	atomic_store(&to->coalesces, false);
	object->born_seq = to->last_seq;
	memset(object->use_seq, 0, sizeof(object->use_seq));
	object->write_seq = object->stored_seq = 0;
	object->round = 0;
	adsm_residents_count(object, 1);
	to->n_undetected += !blocks->detects;
	to->n_synced += blocks->syncs;
	join(object, &to->residents.parked);
	if (open)
		adsm_object_mark_open(object);
	object->moving = false;
	adsm_home_notify(to);
}
