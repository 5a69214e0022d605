/* SPDX-License-Identifier: MIT */
/* event.c - public functions for events of calls and asynchronous copies, and for queues. */
#include "run/copy/event.h"

#include <errno.h>

#include "adsm_queue.h"
#include "api/told.h"
#include "base/log.h"
#include "run/wait/queue.h"

int adsmCallEvent(adsmEvent *ret_event)
{
	return ADSM_AFTER_START(ret_event ? adsm_event_of_call(ret_event) :
				adsm_fail(-EINVAL, "adsmCallEvent(): ret_event is NULL"));
}

int adsmEventQuery(adsmEvent event)
{
	return ADSM_AFTER_LOOK_BACK(adsm_event_query(event));
}

int adsmEventWait(adsmEvent event)
{
	return ADSM_AFTER_LOOK_BACK(adsm_event_wait(event));
}

int adsmEventTime(adsmEvent event, uint64_t *ret_start_ns, uint64_t *ret_end_ns)
{
	ADSM_TELLS;
	uint64_t start_ns = 0, end_ns = 0;
	int error = adsm_start();

	if (!error)
		error = adsm_event_times(event, &start_ns, &end_ns);
	/* The library holds no lock here: the caller's variables may be shared memory. */
	if (!error && ret_start_ns)
		*ret_start_ns = start_ns;
	if (!error && ret_end_ns)
		*ret_end_ns = end_ns;
	return ADSM_TOLD(error);
}

/* ---- queues */

adsmQueue *adsmQueueCreate(void)
{
	ADSM_TELLS;
	const int error = adsm_start();
	adsmQueue *queue = error ? NULL : adsm_queue_create();

	return queue ? queue : adsm_null_with(ADSM_TOLD(error ? error : -ENOMEM));
}

int adsmQueueDestroy(adsmQueue *queue)
{
	ADSM_TELLS;
	const int error = adsm_start();

	return ADSM_TOLD(error || !queue ? error : adsm_queue_destroy(queue));
}

int adsmQueueSet(adsmQueue *queue)
{
	return ADSM_AFTER_START(adsm_queue_set(queue));
}

int adsmQueueWait(adsmQueue *queue, adsmEvent event)
{
	return ADSM_AFTER_START(adsm_event_await(queue, event));
}
