/* SPDX-License-Identifier: MIT */
/* event.c - see event.h. */
#include "run/copy/event.h"

#include <errno.h>

#include "base/error.h"
#include "base/log.h"
#include "core/life.h"
#include "run/wait/caller.h"
#include "run/wait/pending.h"
#include "run/copy/prefetcher.h"
#include "run/wait/queue.h"
#include "run/wait/sync.h"
#include "run/wait/wait.h"

/*
 * The member queue of an adsmEvent: the backend's queue of a copy, or this for a call. The upper half is the number of
 * the library's start, because the numbers of calls begin again with each start.
 */
#define CALLS ADSM_N_QUEUES

adsmEvent adsm_event_of_copy(const struct adsm_home *home, struct adsm_device_event event)
{
	return (adsmEvent){ (uint64_t)home->index, (uint64_t)adsm_life.epoch << 32 | event.queue, event.seq };
}

int adsm_event_of_call(adsmEvent *ret_event)
{
	const struct adsm_caller *own;

	adsm_calls_renew();
	own = adsm_caller_get(adsm_calls.id);
	if (!own)
		return -ENOMEM;
	if (!own->newest_seq)
		return adsm_fail(-ENOENT, "this thread has made no call since the library started");
	*ret_event = (adsmEvent){ own->newest_device, (uint64_t)adsm_life.epoch << 32 | CALLS, own->newest_seq };
	return 0;
}

static bool is_call(adsmEvent event)
{
	return (uint32_t)event.queue == CALLS;
}

/* Check the members of an event. The number of a copy is checked by the backend. */
static int find_home(adsmEvent event, struct adsm_home **ret_home)
{
	struct adsm_sigset old;
	bool exists = true;
	int error;

	if ((uint32_t)event.queue > CALLS || !event.seq || event.device > INT32_MAX)
		return adsm_fail(-EINVAL, "the event belongs to no call and no asynchronous copy");
	if (event.queue >> 32 != adsm_life.epoch)
		return adsm_fail(-EINVAL, "the event is older than the last start of the library");
	error = adsm_home_get((int)event.device, ret_home);
	if (error || !is_call(event))
		return error;
	adsm_home_lock(*ret_home, &old);
	adsm_retire(*ret_home);
	exists = event.seq <= (*ret_home)->last_seq;
	adsm_home_unlock(*ret_home, &old);
	return exists ? 0 : adsm_fail(-EINVAL, "the event belongs to no call of device %d", (*ret_home)->index);
}

static int call_error(struct adsm_home *home, uint64_t seq, int status)
{
	char why[ADSM_FAILURE_TEXT];

	if (!status)
		return 0;
	adsm_failure_get(home, seq, why);
	return adsm_failure_tell(home, why, status);
}

static int copy_error(int status)
{
	return status ? adsm_fail(status, "an asynchronous copy failed: %s", adsm_error_string(status)) : 0;
}

/* The status of a call that has ended. The library has forgotten old calls, and those count as successful. */
static int status_of(struct adsm_home *home, uint64_t seq)
{
	struct adsm_outcome outcome;

	return adsm_outcome_get(home, seq, &outcome) ? outcome.status : 0;
}

int adsm_event_query(adsmEvent event)
{
	struct adsm_device_event e = { (uint32_t)event.queue, event.seq };
	struct adsm_home *home;
	int error, status;

	if (adsm_event_is_prefetch(event))
		return adsm_prefetch_query(event);
	error = find_home(event, &home);
	if (error)
		return error;
	if (is_call(event)) {
		if (adsm_call_ended(home, event.seq))
			return call_error(home, event.seq, status_of(home, event.seq));
		return adsm_fail(-EBUSY, "the call on device %d has not ended", home->index);
	}
	error = home->device->backend->event_query(home->device, e, &status);
	if (error < 0)
		return adsm_fail(error, "the event belongs to no asynchronous copy of device %d", home->index);
	return error ? copy_error(status) : adsm_fail(-EBUSY, "the asynchronous copy has not ended");
}

int adsm_event_wait(adsmEvent event)
{
	struct adsm_device_event e = { (uint32_t)event.queue, event.seq };
	struct adsm_home *home;
	int error, status = 0, failed;

	if (adsm_event_is_prefetch(event))
		return adsm_prefetch_wait(event);
	error = find_home(event, &home);
	if (error)
		return error;
	if (!is_call(event)) {
		error = adsm_wait_event(home, e, &status);
		return copy_error(error ? error : status);
	}
	error = adsm_wait_call(home, event.seq);
	if (error)
		return error;
	status = status_of(home, event.seq);
	failed = adsm_sync_call(home, event.seq);
	return status ? call_error(home, event.seq, status) : failed;
}

int adsm_event_await(adsmQueue *queue, adsmEvent event)
{
	struct adsm_home *home;
	const int error = find_home(event, &home);

	return error ? error : adsm_queue_await(queue, home, is_call(event) ? ADSM_QUEUE_COMPUTE :
						(unsigned)(uint32_t)event.queue, event.seq);
}

int adsm_event_times(adsmEvent event, uint64_t *ret_start_ns, uint64_t *ret_end_ns)
{
	struct adsm_outcome outcome;
	struct adsm_home *home;
	int error;

	if (adsm_event_is_prefetch(event))
		return adsm_prefetch_times(event, ret_start_ns, ret_end_ns);
	error = find_home(event, &home);
	if (error)
		return error;
	if (!is_call(event))
		return adsm_fail(-ENOTSUP, "an asynchronous copy has no times: only calls have times");
	if (!adsm_call_ended(home, event.seq))
		return adsm_fail(-EBUSY, "the call on device %d has not ended", home->index);
	if (!adsm_outcome_get(home, event.seq, &outcome))
		return adsm_fail(-EINVAL, "the times of the call are not known any more: the library keeps those of "
				 "the last %d calls of a device", ADSM_OUTCOMES);
	if (outcome.status)
		return call_error(home, event.seq, outcome.status);
	if (!outcome.span.start_ns)
		return adsm_fail(-ENOTSUP, "device %d of the backend '%s' does not report when a kernel ran",
				 home->index, home->device->backend->name);
	*ret_start_ns = outcome.span.start_ns;
	*ret_end_ns = outcome.span.start_ns + outcome.span.ns;
	return 0;
}
