/* SPDX-License-Identifier: MIT */
/*
 * caller.h - the threads that make calls, and what each is still to be told of calls that failed: the first error on
 * each device since its last sync, however many threads and calls there are.
 */
#ifndef ADSM_CALLER_H
#define ADSM_CALLER_H

#include "core/home.h"

/* What a thread knows of its calls; but for @caller it ends when the library does. */
struct adsm_calls {
	uint64_t id;			/* of the thread, never reused */
	struct adsm_caller *caller;	/* since its first call */
	unsigned epoch;			/* adsm_life.epoch when the rest was true */
	/* On each device, since the thread's last sync. */
	uint64_t last_seq[ADSM_MAX_DEVICES];
	uint64_t event_seq[ADSM_MAX_DEVICES];	/* the last one's event */
	uint8_t event_queue[ADSM_MAX_DEVICES];
	bool once[ADSM_MAX_DEVICES];		/* it is the only one */
};

extern _Thread_local struct adsm_calls adsm_calls;
void adsm_calls_renew(void);

/*
 * The calling thread's, under the number that it has from now on: never 0, never another thread's. NULL: no memory.
 * Before any lock. It stays while the thread lives, and nothing is lost to who looks at it later.
 */
struct adsm_caller *adsm_caller_get(uint64_t thread);
/* A call of that thread has ended with @status on device @index. Any thread, any lock, the fault handler too. */
void adsm_caller_failed(struct adsm_caller *caller, uint64_t thread, int index, int status);
/* The calling thread's first error on device @index, 0 where there is none; forgotten with it. */
int adsm_caller_collect(int index);

#endif
