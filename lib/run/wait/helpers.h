/* SPDX-License-Identifier: MIT */
/*
 * helpers.h - the helper threads of a home.
 *
 * evictor: sends blocks when the protocol requires it, or, with ADSM_EVICT_BATCH=1, the queue of closed blocks. Fetches
 * ahead of sequential readers.
 * copier: calls the backend for threads in a fault or signal handler, where they may not call it (copier.h).
 * watchers: ask the backend whether calls have ended, for threads that wait in a fault and may not call it. Each lane
 * that has had a call has a watcher, because calls of other lanes may end earlier.
 */
#pragma once

#include "core/home.h"

/*
 * Start the helper threads of a home: copier and first watcher, if the device needs them; or the evictor, once an
 * object needs it.
 */
int adsm_service_start(struct adsm_home *home);
/* Start the watcher of a lane, unless it runs. The caller has the home's call mutex, or the home has no calls yet. */
int adsm_watcher_start(struct adsm_home *home, unsigned lane);
int adsm_evictor_start(struct adsm_home *home);
void adsm_helpers_stop(struct adsm_home *home);
