/* SPDX-License-Identifier: MIT */
/*
 * gather.h - commands of the program's that are given to its driver with no more ado.
 *
 * While no object is open that they may use, there is nothing to do for such commands but to know that they are there.
 * So one unnamed call stands for all of them, whenever they come: it has a number, which every access waits for, but
 * no event. That it gets when somebody waits for it: then it closes for more of them, and ends when all that its queues
 * have by then is done. It closes, too, when anything opens, so that the next command is a call like any other; and
 * that may be the first of another such call.
 *
 * A command comes in without a lock. Who closes the call changes @open first, then waits for those that are inside.
 */
#ifndef ADSM_GATHER_H
#define ADSM_GATHER_H

#include "core/home.h"

/* May this thread give a command to a queue now? Then adsm_gather_leave(), with @given: the queue has it. */
bool adsm_gather_enter(struct adsm_home *home, void *queue);
void adsm_gather_leave(struct adsm_home *home, void *queue, bool given);
/* A command was given to @queue, and call @seq stands for it and those to come. Lock held; there is no such call. */
void adsm_gather_begin(struct adsm_home *home, void *queue, uint64_t seq);
/* Objects, or what they wait for, are not the same for the commands to come. Lock held. */
static inline void adsm_gather_close(struct adsm_home *home)
{
	atomic_store(&home->gather.open, false);
}
/*
 * Give the call, where there is one, its event. No lock held, ordinary code only. Negative: not now, sentence set; with
 * the loss of the device it has failed.
 */
int adsm_gather_end(struct adsm_home *home);
/* Does it stand for commands on this queue? */
bool adsm_gather_has(struct adsm_home *home, void *queue);

#endif
