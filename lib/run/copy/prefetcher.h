/* SPDX-License-Identifier: MIT */
/*
 * prefetcher.h - prefetches, and the threads that do them.
 *
 * A device has a thread for each direction, from the first prefetch in that direction on. A thread does one prefetch
 * after the other. So a fetch that waits for a call does not delay sends.
 */
#pragma once

#include "run/copy/prefetch.h"

/*
 * The lower half of adsmEvent.queue, for a prefetch to the device; and plus 1, to the host. Smaller numbers are other
 * operations. The upper half is the number of the library's start, because prefetches are numbered from 1 after each.
 */
#define ADSM_QUEUE_PREFETCH (ADSM_N_QUEUES + 1)	/* ADSM_N_QUEUES: a call (event.c) */
#define ADSM_PREFETCHES_KEPT 1024	/* how many prefetches' results are kept: the latest of each queue */

/*
 * Move bytes of an object to one side, and return before they have moved.
 *
 * @device: ADSM_HOST, or a device. If that is not the object's, the object moves there by @mover.
 * @ret_event: NULL: not needed.
 * @where: the caller's code address.
 */
int adsm_prefetch(const void *p, size_t size, int device, adsmEvent *ret_event, adsm_mover *mover, const void *where);

static inline bool adsm_event_is_prefetch(adsmEvent event)
{
	return (uint32_t)event.queue - ADSM_QUEUE_PREFETCH < 2;
}

/* The functions of event.h for prefetches. -EINVAL: there is no such prefetch. */
int adsm_prefetch_query(adsmEvent event);
int adsm_prefetch_wait(adsmEvent event);
int adsm_prefetch_times(adsmEvent event, uint64_t *ret_start_ns, uint64_t *ret_end_ns);
/* End the threads of a home. No object is alive. */
void adsm_prefetchers_stop(struct adsm_home *home);
