/* SPDX-License-Identifier: MIT */
/*
 * helpers.h - the helper threads of a home.
 *
 * evictor: sends what the policy says is due, or the queue of closed blocks in the paper's mode; fetches what a
 *	    reader in sequence will want next.
 * copier:  calls the backend for threads inside a fault or signal handler, where it may not be called (copier.h).
 * watcher: asks the backend whether calls have ended, for those who wait inside a fault and may not.
 */
#ifndef ADSM_HELPERS_H
#define ADSM_HELPERS_H

#include "core/home.h"

/* Start the helpers a home needs: the service threads, or (once an object needs it) the evictor. */
int adsm_service_start(struct adsm_home *home);
int adsm_evictor_start(struct adsm_home *home);
void adsm_helpers_stop(struct adsm_home *home);

#endif
