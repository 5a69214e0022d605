/* SPDX-License-Identifier: MIT */
/* release.c - see release.h. */
#include "run/call/release.h"

#include <errno.h>

#include "base/error.h"
#include "base/log.h"
#include "core/block.h"
#include "core/expected.h"
#include "core/observe.h"
#include "core/view.h"
#include "run/wait/wait.h"

#define PATIENCE 3			/* passes over objects with transfers until new accesses must wait */

static enum adsm_block_event event_of(unsigned access)
{
	return access == ADSM_ACCESS_IN ? ADSM_EVENT_CALL_IN :
	       access == ADSM_ACCESS_OUT ? ADSM_EVENT_CALL_OUT : ADSM_EVENT_CALL_INOUT;
}

/*
 * Mark blocks that were written without a fault as Dirty. If they must wait for a call, wait for it. Returns like
 * release().
 */
static int collect(struct adsm_object *object, struct adsm_sigset *old)
{
	struct adsm_home *home = object->home;
	uint64_t seq;
	int error = adsm_object_collect(object, &seq);

	/* Threads that write all the time could keep this going forever, so the view is closed. */
	if (error > 0)
		error = home->gate ? adsm_object_close(object) : 0;
	if (error)
		return adsm_fail(error, "the engine cannot collect the writes to %s: %s",
				 ADSM_THE_OBJECT(object), adsm_error_string(error));
	if (!seq)
		return 0;
	error = adsm_wait_call_unlocked(home, seq, old);
	return error ? error : 1;
}

/*
 * Make one object ready for a call: no Dirty block that the kernel reads, and no transfer. Returns 1 if the lock was
 * given back meanwhile, 0, or a negative errno.
 */
static int release(struct adsm_object *object, unsigned access, struct adsm_sigset *old)
{
	struct adsm_home *home = object->home;
	int error;

	if (object->blocks.n_holds)
		return adsm_fail(-EBUSY, "%s is held: call adsmUnhold() first", ADSM_THE_OBJECT(object));
	if (object->blocks.n_busy || object->blocks.n_sending) {
		if (!adsm_send_queued(home))
			adsm_home_wait(home);
		return 1;
	}
	/* The view is closed first. If the system refuses that, nothing has been done yet. */
	error = access == ADSM_ACCESS_IN ? 0 : adsm_object_close(object);
	if (error)
		return adsm_fail(error, "%s cannot be closed: the process has no memory mappings left "
				 "(vm.max_map_count)", ADSM_THE_OBJECT(object));
	error = collect(object, old);
	if (error)
		return error;
	if (!adsm_blocks_n_unsent(&object->blocks) || !adsm_blocks_sends(&object->blocks, event_of(access)))
		return 0;
	error = adsm_object_flush(object);
	if (error == -EBUSY)
		return adsm_fail(error, "%s is held: call adsmUnhold() first", ADSM_THE_OBJECT(object));
	if (error)
		return adsm_fail(error, "%s could not be sent: %s", ADSM_THE_OBJECT(object),
				 adsm_error_string(error));
	return 1;
}

static int release_named(struct adsm_bound *bound, struct adsm_sigset *old)
{
	int moved = 0;

	for (size_t i = 0; i < bound->n_uses; i++) {
		struct adsm_object *object = bound->uses[i].object;
		int result;

		if (adsm_use_is_gone(&bound->uses[i])) {
			if (!bound->kernel)
				continue;
			return adsm_fail(-EINVAL, "kernel '%s': an object that the call uses was freed meanwhile",
					 bound->kernel->info->name);
		}
		result = object->device_only ? 0 : release(object, adsm_bound_access(bound, i), old);
		if (result < 0)
			return result;
		moved |= result;
	}
	return moved;
}

/* An unnamed call uses all objects of the device but those assigned to other kernels only. An object without device
 * memory is out of its reach: the program's own commands have no address of it (residency.c), or it is new. */
static bool is_reached(const struct adsm_object *object)
{
	return !object->assigned && object->memory;
}

static int release_all(struct adsm_home *home, struct adsm_sigset *old)
{
	struct adsm_object *object = home->open;
	int moved = 0;

	while (object) {
		int result = is_reached(object) ? release(object, ADSM_ACCESS_INOUT, old) : 0;

		if (result < 0)
			return result;
		moved |= result;
		/* While the lock was given back, the object may have left the list. Then begin again. */
		object = object->open ? object->open_next : home->open;
	}
	return moved;
}

int adsm_release(struct adsm_bound *bound, struct adsm_sigset *old)
{
	struct adsm_home *home = bound->home;
	int moved = 1;

	if (!bound->named)
		adsm_close_neighbours(home);
	for (int pass = 0; moved == 1; pass++) {
		/* Other threads' writes could keep this going forever. From here on they wait. */
		home->gate = pass >= PATIENCE;
		moved = release_named(bound, old);
		if (moved >= 0 && !bound->named) {
			int more = release_all(home, old);

			moved = more < 0 ? more : moved | more;
		}
	}
	return moved;
}

void adsm_release_undo(struct adsm_home *home)
{
	for (struct adsm_object *object = home->n_undetected ? home->open : NULL; object;
	     object = object->open_next)
		if (!object->blocks.detects && !adsm_object_user(object))
			adsm_blocks_may_be_written(&object->blocks, 0, object->blocks.n);
}

void adsm_release_end(struct adsm_home *home)
{
	if (!home->gate)
		return;
	home->gate = false;
	adsm_home_notify(home);
}

static void take_object(const struct adsm_bound *bound, struct adsm_object *object, enum adsm_block_event event)
{
	if (event != ADSM_EVENT_CALL_IN)
		adsm_note_written(object, adsm_bound_is_own(bound));
	adsm_object_called(object, event);
}

void adsm_release_take(struct adsm_bound *bound, unsigned lane, uint64_t seq)
{
	struct adsm_home *home = bound->home;

	for (size_t i = 0; i < bound->n_uses; i++) {
		struct adsm_object *object = bound->uses[i].object;
		unsigned access = adsm_bound_access(bound, i);

		if (adsm_use_is_gone(&bound->uses[i]))
			continue;
		object->use_seq[lane] = seq;
		if (access != ADSM_ACCESS_IN)
			object->write_seq = seq;
		if (bound->uses[i].access != ADSM_ACCESS_IN)
			object->stored_seq = seq;
		if (!object->device_only)
			take_object(bound, object, event_of(access));
	}
	if (bound->named)
		return;
	if (!adsm_bound_is_own(bound))
		adsm_policies_written(&home->policies);
	home->unnamed_seq = seq;
	if (!bound->known)
		home->unknown_seq = seq;
	for (struct adsm_object *object = home->open, *next; object; object = next) {
		next = object->open_next;
		if (is_reached(object))
			take_object(bound, object, ADSM_EVENT_CALL_INOUT);
	}
	adsm_act_on_all(home, ADSM_ACT_CALLED_ALL, 0, seq);
}
