/* SPDX-License-Identifier: MIT */
/*
 * coalesced.h - commands of the program that go to its driver directly, and are joined into one unnamed call.
 *
 * While no object is open that such commands may use, the library only has to know that they exist. So one unnamed call
 * stands for all of them. It has a number, which every access waits for, but no event. It gets its event when a thread
 * waits for it. From then on no command joins it, and it ends when all commands that are in its queues by then are
 * done. No command joins it either after an object was opened: then the next command is a call of its own, which may be
 * the first of another such call.
 *
 * A command joins without a lock. A thread that closes the call clears home->coalesces first, then waits for the
 * threads that are inside.
 */
#pragma once

#include "core/home.h"

/*
 * May this thread give a command to the queue directly? If so, it calls adsm_coalesced_leave() afterwards. @given: the
 * queue has got the command.
 */
bool adsm_coalesced_enter(struct adsm_home *home, void *queue);
void adsm_coalesced_leave(struct adsm_home *home, void *queue, bool given);
/*
 * A command was given to @queue, and call @seq stands for it and for those that join it. Lock held; there is no other
 * such call.
 */
void adsm_coalesced_begin(struct adsm_home *home, void *queue, uint64_t seq);
/*
 * Commands that follow must not join the call, because open objects, or what calls wait for, have changed. Lock held.
 */
static inline void adsm_coalesced_close(struct adsm_home *home)
{
	atomic_store(&home->coalesces, false);
}
/*
 * Give the call of coalesced commands, if there is one, its event. No lock held; not from the fault path. Returns 0 or
 * a negative errno, with an error text, if this is not possible now. If the device is lost, the call has failed, and
 * the result is 0.
 */
int adsm_coalesced_end(struct adsm_home *home);
/* Does the call stand for commands in this queue? */
bool adsm_coalesced_has(struct adsm_home *home, void *queue);
