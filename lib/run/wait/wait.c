/* SPDX-License-Identifier: MIT */
/* wait.c - waiting for calls. */
#include "run/wait/wait.h"

#include <errno.h>

#include "base/error.h"
#include "base/log.h"
#include "core/life.h"
#include "core/observe.h"
#include "run/wait/caller.h"
#include "run/wait/coalesced.h"
#include "run/wait/left.h"
#include "run/wait/pending.h"

#define ASK_TRIES 100		/* how often the backend may say that a call
				   has not ended although it has waited for it */

_Thread_local struct adsm_home *adsm_touching;	/* adsm_pending.touching counts these threads */

/* Note that a call has ended with @status. Calls of a lane end in order. Lock held. */
static void finish(struct adsm_home *home, const struct adsm_call *call, int status)
{
	struct adsm_span span = { 0 };

	if (status) {
		const char *why = home->device->backend->event_failure(home->device, call->event);

		if (why)
			adsm_failure_add(home, call->seq, why);
		if (call->thread)	/* otherwise the program asks its driver */
			adsm_caller_failed(call->caller, call->thread, home->index, status, why ? why : "");
		/* Not if the call failed because it waited for a unit that another, lost device was to set. */
		if (status == -ENODEV && home->device->backend->status(home->device)) {
			home->lost_seq = home->lost_seq ? home->lost_seq : call->seq;
			home->lost[call->seq / 64 % (ADSM_ENDED_AHEAD / 64)] |= UINT64_C(1) << call->seq % 64;
		}
	} else if (!home->device->backend->event_times(home->device, call->event, &span)) {
		adsm_note_kernel(home, &(struct adsm_kernel_run){
			.seq = call->seq, .kernel = call->kernel, .event = call->event, .given_ns = call->given_ns,
			.ns = span.ns, .lane = call->lane,
		});
	}
	adsm_pending_of(home)->outcomes[call->seq % ADSM_OUTCOMES] = (struct adsm_outcome){ call->seq, status, span };
	adsm_ended_add(&home->ended, call->seq);
	adsm_home_notify(home);
}

void adsm_retire(struct adsm_home *home)
{
	unsigned run = ~0u;	/* lanes where no call is known to run */

	/* If the backend may not be asked in a fault, the watcher asks it when a thread waits. */
	if (adsm_in_fault && home->has_service)
		return;
	for (uint64_t seq = adsm_ended_next(&home->ended); seq <= home->last_seq && run; seq++) {
		const struct adsm_call *call = adsm_pending_call(home, seq);
		int status = call->failed;

		if (!(run >> call->lane & 1) || adsm_call_ended(home, seq))
			continue;
		if (!status && (!call->event.seq ||
				home->device->backend->event_query(home->device, call->event, &status) <= 0))
			run = home->n_lanes > 1 ? run & ~(1u << call->lane) : 0;
		else
			finish(home, call, status);
	}
}

void adsm_retire_all(void)
{
	for (int i = 0; i < adsm_n_homes; i++) {
		struct adsm_sigset old;

		adsm_home_lock(&adsm_homes[i], &old);
		adsm_retire(&adsm_homes[i]);
		adsm_home_unlock(&adsm_homes[i], &old);
	}
}

/*
 * Wait for a call if the backend may not be asked: the watcher asks it and wakes this thread. @timeout_ns 0: no limit.
 */
static void wait_told(struct adsm_home *home, uint64_t seq, uint64_t timeout_ns, bool *ret_done)
{
	struct adsm_sigset old;
	unsigned lane;
	uint32_t tick;

	adsm_home_lock(home, &old);
	tick = atomic_load(&home->tick);
	lane = adsm_pending_call(home, seq)->lane;
	*ret_done = adsm_call_ended(home, seq);
	atomic_fetch_add(&home->n_waiting, 1);	/* if a jump leaves this function, the count stays
						   too high, which only causes needless wakes */
	adsm_home_unlock(home, &old);
	if (!*ret_done) {
		adsm_os_poke(&home->watchers[lane].word);
		adsm_os_wait(&home->tick, tick, timeout_ns, false);
	}
	atomic_fetch_sub(&home->n_waiting, 1);
}

/* The first call of the lane that is not known to have ended, or NULL. Lock held. */
static const struct adsm_call *first_of(struct adsm_home *home, unsigned lane)
{
	for (uint64_t seq = adsm_ended_next(&home->ended); seq <= home->last_seq; seq++)
		if (adsm_pending_call(home, seq)->lane == lane && !adsm_call_ended(home, seq))
			return adsm_pending_call(home, seq);
	return NULL;
}

/* Sleep until call @seq has ended, a signal handler has run, or waiting has failed. No lock held. */
static int wait_once(struct adsm_home *home, uint64_t seq, bool ask, bool *ret_done)
{
	const struct adsm_pending *pending = adsm_pending_of(home);
	struct adsm_sigset old;
	struct adsm_call call;
	int status, error;
	bool coalesced;

	if (!ask) {
		wait_told(home, seq, 0, ret_done);
		return 0;
	}
	adsm_home_lock(home, &old);
	adsm_retire(home);
	*ret_done = adsm_call_ended(home, seq);
	call = *adsm_pending_call(home, seq);
	coalesced = pending->coalesced.seq && pending->coalesced.seq <= seq;
	adsm_home_unlock(home, &old);
	if (*ret_done)
		return 0;
	/* The call stands for coalesced commands. It must end, so it needs an event. */
	if (coalesced)
		return adsm_coalesced_end(home);
	error = home->device->backend->event_wait(home->device, call.event, &status);
	if (error)
		return error;
	adsm_home_lock(home, &old);
	adsm_retire(home);
	if (!adsm_call_ended(home, seq) && first_of(home, call.lane)->seq == seq)
		finish(home, &call, status);
	*ret_done = adsm_call_ended(home, seq);
	if (!*ret_done)
		call = *first_of(home, call.lane);
	adsm_home_unlock(home, &old);
	/* An earlier call may have got its event after this one (coalesced.h), and may end later. */
	return *ret_done || !call.event.seq ? 0 : home->device->backend->event_wait(home->device, call.event, &status);
}

static int wait_call(struct adsm_home *home, uint64_t seq, bool ask)
{
	uint64_t start;
	int error, tries = 0;
	bool done;

	if (adsm_call_ended(home, seq))
		return 0;
	if (adsm_serving)
		return adsm_fail(-EDEADLK, "a running call on device %d waits for this service", home->index);
	start = adsm_os_now_ns();
	do {
		error = wait_once(home, seq, ask, &done);
		/* The backend has waited for the call, but then does
		 * not know of its end. This must not go on forever. */
		if (ask && !error && !done && ++tries > ASK_TRIES)
			error = -EIO;
	} while (!done && (!error || error == -EINTR));
	if (!adsm_spent.in_background)
		adsm_note_wait(home->index, start);
	if (error)
		return adsm_fail(error, "cannot wait for a call on device %d: %s", home->index,
				 adsm_error_string(error));
	return 0;
}

int adsm_wait_call(struct adsm_home *home, uint64_t seq)
{
	return wait_call(home, seq, true);
}

int adsm_wait_call_unlocked(struct adsm_home *home, uint64_t seq, struct adsm_sigset *old)
{
	int error;

	adsm_home_unlock(home, old);
	error = adsm_wait_call(home, seq);
	adsm_home_lock(home, old);
	return error;
}

/* The first call up to @seq that is not known to have ended, or 0. The number is read once: other threads change it,
 * and the call after the last one does not exist. */
static uint64_t first_to(struct adsm_home *home, uint64_t seq)
{
	const uint64_t next = adsm_ended_next(&home->ended);

	return next <= seq ? next : 0;
}

bool adsm_wait_calls_until(struct adsm_home *home, uint64_t seq, uint64_t until_ns)
{
	uint64_t first, now;
	bool done;

	while ((first = first_to(home, seq)) && (now = adsm_os_now_ns()) < until_ns)
		wait_told(home, first, until_ns - now, &done);
	return adsm_calls_ended(home, seq);
}

void adsm_wait_tick(struct adsm_home *home, uint32_t tick)
{
	const uint64_t start = adsm_os_now_ns();

	atomic_fetch_add(&home->n_waiting, 1);
	adsm_os_wait(&home->tick, tick, 0, false);
	atomic_fetch_sub(&home->n_waiting, 1);
	adsm_note_wait(home->index, start);
}

int adsm_wait_event(const struct adsm_home *home, struct adsm_device_event event, int *ret_status)
{
	int error;

	do
		error = home->device->backend->event_wait(home->device, event, ret_status);
	while (error == -EINTR);
	return error;
}

int adsm_wait_calls_to(struct adsm_home *home, uint64_t seq)
{
	uint64_t first;
	int error = 0;

	while (!error && (first = first_to(home, seq)))
		error = adsm_wait_call(home, first);
	return error;
}

int adsm_wait_calls(struct adsm_home *home)
{
	struct adsm_sigset old;
	uint64_t seq;

	adsm_home_lock(home, &old);
	seq = home->last_seq;
	adsm_home_unlock(home, &old);
	return adsm_wait_calls_to(home, seq);
}

void adsm_quiesce(void)
{
	for (int i = 0; i < adsm_n_homes; i++)
		adsm_wait_calls(&adsm_homes[i]);
}

void adsm_watch_calls(struct adsm_home *home, unsigned lane)
{
	struct adsm_watcher *watcher = &home->watchers[lane];

	while (!atomic_load(&home->stop)) {
		const struct adsm_call *call;
		struct adsm_sigset old;
		uint64_t seq;

		adsm_home_lock(home, &old);
		call = first_of(home, lane);
		seq = call ? call->seq : 0;
		/* A call that stands for coalesced commands stays open until a thread waits for it. */
		if (seq == adsm_pending_of(home)->coalesced.seq && !atomic_load(&home->n_waiting))
			seq = 0;
		adsm_home_unlock(home, &old);
		if (!seq)
			return;
		if (wait_call(home, seq, true))	/* the error may be temporary: try again soon */
			adsm_os_wait(&watcher->word, atomic_load(&watcher->word), 1000000, false);
	}
}

/* ---- touches */

/* Later calls let touches that wait go first. If a jump leaves a wait, the thread's next touch ends the count. */
static bool start_touching(struct adsm_home *home)
{
	if (adsm_touching)
		return false;	/* this is a signal handler that interrupted another wait */
	adsm_touching = home;
	atomic_fetch_add(&adsm_pending_of(home)->touching, 1);
	return true;
}

void adsm_touch_end(void)
{
	struct adsm_home *home = adsm_touching;
	_Atomic int *touching;
	int n;

	if (!home)
		return;
	touching = &adsm_pending_of(home)->touching;
	n = atomic_load(touching);
	adsm_touching = NULL;
	while (n > 0 && !atomic_compare_exchange_weak(touching, &n, n - 1))
		;
	adsm_home_notify(home);
}

int adsm_touch_wait(struct adsm_home *home, uint64_t seq)
{
	uint64_t start = adsm_os_now_ns();
	bool done;
	int error;

	start_touching(home);
	error = wait_once(home, seq, !home->has_service, &done);
	adsm_note_wait(home->index, start);
	return error == -EINTR ? 0 : error;
}

int adsm_wait_unlocked(struct adsm_home *home, uint64_t seq, struct adsm_sigset *old)
{
	int in_fault = adsm_in_fault, error;
	bool started;

	/* Signal handlers run meanwhile, and may leave by a jump. */
	adsm_in_fault = 0;
	adsm_home_unlock(home, old);
	started = start_touching(home);
	error = wait_call(home, seq, !in_fault || !home->has_service);
	adsm_home_lock(home, old);
	adsm_in_fault = in_fault;
	/* The lock is held, so the work that waited is done before the next call. */
	if (started)
		adsm_touch_end();
	return error;
}

/* ---- blocks */

int adsm_blocks_ready(struct adsm_object *object, uint32_t b, uint32_t n, enum adsm_block_event event, bool open,
		      struct adsm_sigset *old)
{
	struct adsm_home *home = object->home;
	uint64_t generation = object->generation;
	bool left = false;
	int error = 0;

	for (;;) {
		uint64_t seq;

		if (!adsm_object_is_at(object, home))
			return -ESTALE;
		if (!object->live || object->freeing || object->generation != generation)
			return adsm_fail(-EINVAL, "the object was freed meanwhile");
		if (left && n > 1)
			return -EAGAIN;
		if (adsm_blocks_step(&object->blocks, b, event).result == ADSM_RESULT_REFUSE)
			return adsm_fail(-EACCES, "block %u of %s: the object's protocol refuses the "
					 "access", b, ADSM_THE_OBJECT(object));
		if (adsm_block_blocked(object, b)) {
			adsm_home_wait(home);
			continue;
		}
		seq = adsm_block_must_wait(object, b, event);
		left = !seq && adsm_left_by_others(object, b, n);
		if (left)
			continue;
		if (!seq)
			break;
		error = adsm_wait_unlocked(home, seq, old);
		if (error)
			return error;
	}
	if (adsm_blocks_lack(&object->blocks, b) && event != ADSM_EVENT_OVERWRITE && adsm_object_lost(object))
		return adsm_fail(-ENODEV, "block %u of %s was lost with its device: %s", b,
				 ADSM_THE_OBJECT(object), adsm_home_reason(home, -ENODEV));
	error = adsm_blocks_access(object, b, n, event, open);
	if (error)
		return adsm_fail(error, "block %u of %s: the transfer failed: %s", b,
				 ADSM_THE_OBJECT(object), adsm_home_reason(home, error));
	return 0;
}
