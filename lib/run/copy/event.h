/* SPDX-License-Identifier: MIT */
/* event.h - events of calls and asynchronous copies. An adsmEvent is a value, and the library keeps nothing for it. */
#pragma once

#include "adsm_queue.h"
#include "core/home.h"

/* The event of an operation on one of the backend's queues for copies. */
adsmEvent adsm_event_of_copy(const struct adsm_home *home, struct adsm_device_event event);
/* The event of the calling thread's last call. -ENOENT: it has made none. */
int adsm_event_of_call(adsmEvent *ret_event);
/* Returns 0, -EBUSY, or the error of the operation. */
int adsm_event_query(adsmEvent event);
/* Wait for an operation, and return its error. Objects of a call whose accesses are not detected are fetched. */
int adsm_event_wait(adsmEvent event);
/* Later calls of a queue begin after an operation. */
int adsm_event_await(adsmQueue *queue, adsmEvent event);
/* When a call that has ended ran. */
int adsm_event_times(adsmEvent event, uint64_t *ret_start_ns, uint64_t *ret_end_ns);
