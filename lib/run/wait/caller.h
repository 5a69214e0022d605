/* SPDX-License-Identifier: MIT */
/*
 * caller.h - the threads that make calls, and the errors that each has not collected yet: for each device the first
 * error since the thread's last sync, for any number of threads and calls.
 */
#pragma once

#include "core/home.h"
#include "run/wait/pending.h"

/* What a thread knows of its calls. Except for @caller it is valid until the library stops. */
struct adsm_calls {
	uint64_t id;			/* the thread's number, never reused */
	struct adsm_caller *caller;	/* set by its first call */
	unsigned epoch;			/* adsm_life.epoch at the time when the other members were set */
	/* For each device, since the thread's last sync. */
	uint64_t last_seq[ADSM_MAX_DEVICES];
	uint64_t event_seq[ADSM_MAX_DEVICES];	/* the last one's event */
	uint8_t event_queue[ADSM_MAX_DEVICES];
	bool once[ADSM_MAX_DEVICES];		/* the call is the only one */
};

/*
 * An entry is reused by another thread after its thread has ended, but never freed: calls that still run point to it.
 * Each error is stored with the thread's number, so that an error that comes too late finds another number and is
 * dropped. What a thread knows of its calls and needs less often is also here, because thread-local memory is scarce.
 */
struct adsm_caller {
	struct adsm_caller *next_free;
	unsigned round;
	_Atomic uint64_t failed[ADSM_MAX_DEVICES];	/* thread and errno: caller.c */
	/* why, as the device says it, or ""; guarded by the home's lock. The home's list of failures soon loses it. */
	char why[ADSM_MAX_DEVICES][ADSM_FAILURE_TEXT];
	uint64_t newest_device, newest_seq;	/* the thread's last call; seq 0: it has made none */
	uint8_t lanes[ADSM_MAX_DEVICES];	/* of its calls since its last sync, by bits */
	struct adsmQueue *queue;	/* of the thread's calls (queue.h); NULL: the one that threads share */
	uint32_t queue_generation;
};

extern _Thread_local struct adsm_calls adsm_calls;
void adsm_calls_renew(void);

/*
 * Get the calling thread's entry, and give it the number @thread, which is never 0 and belongs to no other thread.
 * NULL: no memory. Call this before any lock is taken. The entry stays valid while the thread lives.
 */
struct adsm_caller *adsm_caller_get(uint64_t thread);
/*
 * A call of that thread has ended with @status on device @index; @why: the device's sentence, or "". The caller holds
 * the home's lock, and may be any thread, also in the fault handler.
 */
void adsm_caller_failed(struct adsm_caller *caller, uint64_t thread, int index, int status, const char *why);
/* Does the calling thread have an error on device @index? */
bool adsm_caller_has_failed(int index);
/* Return the calling thread's first error on device @index and clear it; 0 if there is none. @ret_why: the device's
 * sentence, or "". The home's lock is held. */
int adsm_caller_collect(int index, char ret_why[ADSM_FAILURE_TEXT]);
