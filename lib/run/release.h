/* SPDX-License-Identifier: MIT */
/* release.h - what a call does to its objects: releases them before it starts, takes them when it has. Lock held. */
#ifndef ADSM_RELEASE_H
#define ADSM_RELEASE_H

#include "run/bind.h"

/*
 * After this, and until the lock is given back, no used object has anything to send or in motion; new accesses may
 * have to wait until adsm_release_end(). @old: the signals of the lock, which may be given away to wait for a call.
 */
int adsm_release(struct adsm_bound *bound, struct adsm_sigset *old);
/* Call @seq has started: its objects are the device's. */
void adsm_release_take(struct adsm_bound *bound, uint64_t seq);
/* The call did not start. Where no write is seen, bytes sent for it may be written before it is repeated. */
void adsm_release_undo(struct adsm_home *home);
void adsm_release_end(struct adsm_home *home);

#endif
