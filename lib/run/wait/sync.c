/* SPDX-License-Identifier: MIT */
/* sync.c - waiting for calls: protocols fetch what they need afterwards, and failures are reported. */
#include "run/wait/sync.h"

#include <errno.h>

#include "base/error.h"
#include "base/log.h"
#include "core/block.h"
#include "core/expected.h"
#include "core/observe.h"
#include "core/view.h"
#include "run/wait/caller.h"
#include "run/wait/left.h"
#include "run/wait/pending.h"
#include "run/wait/wait.h"

/*
 * Let protocols fetch what calls that have ended wrote: all of it for objects whose accesses are not detected. Lock
 * held. @only: of these the objects whose last call this is, and no others; 0: all objects.
 */
static int acquire(struct adsm_home *home, uint64_t only)
{
	struct adsm_object *object = home->n_synced ? home->open : NULL;
	int error = 0;

	adsm_act_on_all(home, ADSM_ACT_SYNC, adsm_ended_next(&home->ended) - 1, only);
	while (object) {
		bool ended = !adsm_object_user(object);
		bool detects = object->blocks.detects;

		if (only && (detects || adsm_object_last_use(object) != only)) {
			object = object->open_next;
			continue;
		}
		if (ended && !object->freeing && adsm_left_by_others(object, 0, object->blocks.n)) {
			object = home->open;
			continue;
		}
		if (detects && object->blocks.syncs && ended && !object->freeing && !adsm_object_lost(object)) {
			/* If this fetch fails, the access that needs the bytes repeats it, and fails visibly. */
			adsm_object_sync(object);
		} else if (!detects && ended && !object->freeing) {
			int failed = 0;
			bool lost;

			if (object->blocks.n_busy || object->blocks.n_sending) {
				/* Another thread's sync fetches what this one needs, too. */
				adsm_home_wait(home);
				object = home->open;
				continue;
			}

			lost = adsm_blocks_n_lacking(&object->blocks) && adsm_object_lost(object);
			if (!lost)
				failed = adsm_object_sync(object);
			/* The loss may be known only since this fetch. */
			lost |= failed == -ENODEV && adsm_blocks_n_lacking(&object->blocks);
			if (lost && object->blocks.at[0].view != ADSM_PROT_NONE) {
				/* Report this once, and close the view: the
				 * bytes must not be read as if they were there. */
				adsm_object_close_view(object);
				failed = -ENODEV;
			}
			if (failed && !error)
				error = failed;
		}
		object = object->open ? object->open_next : home->open;
	}
	return error;
}

/* Wait for this thread's only call. Returns 0 and the call's status, or a negative errno if waiting failed. */
static int wait_for_one(struct adsm_home *home, int *ret_status)
{
	struct adsm_device_event event = { adsm_calls.event_queue[home->index],
					   adsm_calls.event_seq[home->index] };
	uint64_t start = adsm_os_now_ns();
	int error = adsm_wait_event(home, event, ret_status);

	adsm_note_wait(home->index, start);
	return error ? adsm_fail(error, "cannot wait for a call on device %d: %s", home->index,
				 adsm_error_string(error)) : 0;
}

/* Wait for this thread's calls, whose last one is @seq. In a single lane they end in order. A thread that ends may sync
 * in a late destructor, when its entry is gone: then the lanes are not known. */
static int wait_for_all(struct adsm_home *home, uint64_t seq)
{
	const struct adsm_caller *own = adsm_calls.caller;
	const bool in_order = own && !(own->lanes[home->index] & (own->lanes[home->index] - 1));

	return in_order ? adsm_wait_call(home, seq) : adsm_wait_calls_to(home, seq);
}

static int fetch_error(const struct adsm_home *home, int error)
{
	return error ? adsm_fail(error, "an object could not be fetched from device %d: %s", home->index,
				 adsm_error_string(error)) : 0;
}

static int sync_home(struct adsm_home *home)
{
	uint64_t seq = adsm_calls.last_seq[home->index];
	/* The quick way. It is not possible if fault handlers may not
	 * ask the backend: then the end of the call must be noted. */
	const bool synced = home->n_synced || adsm_observes(ADSM_OBSERVE_PAGES);
	bool one = adsm_calls.once[home->index] && !synced && !home->has_service;
	struct adsm_sigset old;
	char why[ADSM_FAILURE_TEXT];
	int error = 0, failed;

	if (!seq && !synced)
		return 0;
	if (seq) {
		/* The usual case, one call without an error, needs no lock and no system call. */
		int status = 0;

		error = one ? wait_for_one(home, &status) : wait_for_all(home, seq);
		if (error)
			return error;
		/* Another thread may have noted the call's end, and after many later calls
		 * the device no longer knows its error. Then this thread's entry has it. */
		if (one && !status && !adsm_caller_has_failed(home->index)) {
			adsm_calls.last_seq[home->index] = 0;
			return 0;
		}
		error = wait_for_all(home, seq);	/* their end is noted, or will be soon */
		if (error)
			return error;
	}
	adsm_home_lock(home, &old);
	adsm_retire(home);
	error = adsm_caller_collect(home->index, why);
	failed = acquire(home, 0);
	adsm_fetch_expected(home);
	adsm_home_unlock(home, &old);
	adsm_calls.last_seq[home->index] = 0;
	if (error) {
		if (!home->device->backend->status(home->device))
			adsm_failure_tell(home, why, error);
		return error;
	}
	return fetch_error(home, failed);
}

int adsm_sync_call(struct adsm_home *home, uint64_t seq)
{
	struct adsm_sigset old;
	int error;

	if (!atomic_load(&home->n_undetected) && !adsm_observes(ADSM_OBSERVE_PAGES))
		return 0;
	adsm_home_lock(home, &old);
	adsm_retire(home);
	error = acquire(home, seq);
	adsm_home_unlock(home, &old);
	return fetch_error(home, error);
}

int adsm_sync_commands(struct adsm_home *home)
{
	struct adsm_sigset old;
	int error;

	/* Accesses of other objects wait for what they need. */
	if (!atomic_load(&home->n_undetected) && !adsm_observes(ADSM_OBSERVE_PAGES))
		return 0;
	/* Objects whose accesses are not detected must be fetched now. A backend may report the end of a call late. */
	error = adsm_wait_calls(home);
	if (error)
		return error;
	adsm_home_lock(home, &old);
	adsm_retire(home);
	error = acquire(home, 0);
	adsm_home_unlock(home, &old);
	return fetch_error(home, error);
}

int adsm_sync(const void *where)
{
	struct adsm_error_kept first;
	int error = 0;

	adsm_calls_renew();
	adsm_because(ADSM_WHY_SYNC, where, "");
	for (int i = 0; i < adsm_n_homes; i++) {
		if (!error) {
			error = sync_home(&adsm_homes[i]);
			continue;
		}
		/* The sentence belongs to the error that is returned. */
		adsm_error_keep(&first);
		sync_home(&adsm_homes[i]);
		adsm_error_back(&first);
	}
	adsm_because(ADSM_WHY_OTHER, NULL, "");
	return error;
}
