/* SPDX-License-Identifier: MIT */
/* wait.h - waiting for calls: in ordinary code, in a touch, and until a block can take an event. */
#pragma once

#include "core/block.h"

/* Note the calls that have ended. Lock held. */
void adsm_retire(struct adsm_home *home);
/* The same for all devices. The caller holds no lock. Counters are then up to date, even if no thread has waited. */
void adsm_retire_all(void);
/* Wait until call @seq has ended, with or without an error. Negative: waiting failed. In a thread of the library
 * (adsm_spent.in_background) the time does not count for the program. */
int adsm_wait_call(struct adsm_home *home, uint64_t seq);
/* The same for a caller that holds the lock, which is given back meanwhile, with the signals of @old. */
int adsm_wait_call_unlocked(struct adsm_home *home, uint64_t seq, struct adsm_sigset *old);
/* The same for all calls up to @seq. */
int adsm_wait_calls_to(struct adsm_home *home, uint64_t seq);
/* The same until @until_ns at most, and without asking the backend. Returns true if the calls have ended. */
bool adsm_wait_calls_until(struct adsm_home *home, uint64_t seq, uint64_t until_ns);
/* Sleep until something of the home has changed since its tick was @tick, or a signal handler has run. */
void adsm_wait_tick(struct adsm_home *home, uint32_t tick);
/* Wait for an event of a device, also while signal handlers run. */
int adsm_wait_event(const struct adsm_home *home, struct adsm_device_event event, int *ret_status);
/* Wait until all calls of a device have ended that have begun by now; of every device, before a module is unloaded. */
int adsm_wait_calls(struct adsm_home *home);
void adsm_quiesce(void);
/* A watcher's work, if fault handlers may not ask the backend: note the calls of a lane as they end, until all have
 * ended. */
void adsm_watch_calls(struct adsm_home *home, unsigned lane);

/* ---- touches: later calls let touches that wait go first */

/* The home whose call this thread's touch has waited for, or waits for; NULL: none. */
extern _Thread_local struct adsm_home *adsm_touching;
/*
 * Wait once, under the interrupted code's signal mask, without a lock. A signal handler may leave it by siglongjmp().
 * Negative: waiting failed.
 */
int adsm_touch_wait(struct adsm_home *home, uint64_t seq);
/* This thread's touch was served, or never will be. */
void adsm_touch_end(void);

/* ---- with the lock held, which is given back and taken again */

/* Wait for a call as a touch does: later calls let this thread go first. */
int adsm_wait_unlocked(struct adsm_home *home, uint64_t seq, struct adsm_sigset *old);
/*
 * Let one event happen to blocks, after everything that the first one must wait for. So the others must be like it and
 * need no wait. Not on the fault path.
 *
 * Without a sentence, and nothing has happened:
 *   -ESTALE   the object has another home now; the lock is still that of its earlier home
 *   -EAGAIN   only if @n is not 1: the lock was given back, so the blocks may not be alike any more
 */
int adsm_blocks_ready(struct adsm_object *object, uint32_t b, uint32_t n, enum adsm_block_event event, bool open,
		      struct adsm_sigset *old);
