/* SPDX-License-Identifier: MIT */
/* release.h - what a call does to its objects before it starts (release) and after it has started (take). Lock held. */
#pragma once

#include "run/call/bind.h"

/*
 * Release the objects of a call. Afterwards, until the lock is given back, no used object has anything to send, and no
 * transfer of it runs. New accesses may have to wait until adsm_release_end(). @old: the signal mask from taking the
 * lock, which may be given back to wait for a call.
 */
int adsm_release(struct adsm_bound *bound, struct adsm_sigset *old);
/* Call @seq of @lane has started: the states of its objects change, so that the device has the current bytes. */
void adsm_release_take(struct adsm_bound *bound, unsigned lane, uint64_t seq);
/*
 * The call did not start. Objects whose accesses are not detected count as written by the CPU again, because the
 * program may write them before it repeats the call.
 */
void adsm_release_undo(struct adsm_home *home);
void adsm_release_end(struct adsm_home *home);
