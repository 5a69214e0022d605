/* SPDX-License-Identifier: MIT */
/*
 * helpers.h - the helper threads of a home.
 *
 * evictor: sends blocks when the protocol requires it, or, with ADSM_EVICT_BATCH=1, the queue of closed blocks. Fetches
 * ahead of sequential readers.
 * copier: calls the backend for threads in a fault or signal handler, where they may not call it (copier.h).
 * watcher: asks the backend whether calls have ended, for threads that wait in a fault and may not call it.
 */
#pragma once

#include "core/home.h"

/*
 * Start the helper threads of a home: copier and watcher, if the device needs them; or the evictor, once an object
 * needs it.
 */
int adsm_service_start(struct adsm_home *home);
int adsm_evictor_start(struct adsm_home *home);
void adsm_helpers_stop(struct adsm_home *home);
