/* SPDX-License-Identifier: MIT */
/* wait.h - waiting for calls: in ordinary code, in a touch, and until a block can take an event. */
#ifndef ADSM_WAIT_H
#define ADSM_WAIT_H

#include "core/block.h"

/* Take note of calls that have ended. Lock held. */
void adsm_retire(struct adsm_home *home);
/* The same on all devices, without a lock: what counters tell is so now, even where nobody has looked yet. */
void adsm_retire_all(void);
/* Wait until the calls up to @seq have ended, however they ended. Negative: could not wait. */
int adsm_wait_call(struct adsm_home *home, uint64_t seq);
/* The same until @until_ns at most, and without asking the backend: true when they have ended. */
bool adsm_wait_call_until(struct adsm_home *home, uint64_t seq, uint64_t until_ns);
/* Wait for the calls of every device: before a module goes. */
void adsm_quiesce(void);
/* The watcher's work, where fault handlers may not ask the backend: until all calls have ended. */
void adsm_watch_calls(struct adsm_home *home);

/* ---- touches: later calls let those pass that wait in one */

/* The home whose call this thread's touch has waited for, or waits for; NULL: none. */
extern _Thread_local struct adsm_home *adsm_touching;
/* Once, under the interrupted code's signal mask, without a lock; may be left by siglongjmp(). Negative: could not. */
int adsm_touch_wait(struct adsm_home *home, uint64_t seq);
/* This thread's touch is served, or never will be. */
void adsm_touch_end(void);

/* ---- with the lock held, which is given away and taken again */

/* Wait for a call as a touch does, which later calls let pass. */
int adsm_wait_unlocked(struct adsm_home *home, uint64_t seq, struct adsm_sigset *old);
/* Let one event happen to one block, whatever it has to wait for; in ordinary code. */
int adsm_block_ready(struct adsm_object *object, uint32_t b, enum adsm_block_event event, bool open,
		     struct adsm_sigset *old);
/* The same for a run; only the first block is waited for, so the others must be like it and not have to wait. */
int adsm_blocks_ready(struct adsm_object *object, uint32_t b, uint32_t n, enum adsm_block_event event, bool open,
		      struct adsm_sigset *old);

#endif
