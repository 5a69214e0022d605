/* SPDX-License-Identifier: MIT */
/* pending.h - the calls of each device: those that are not known to have ended, and what is in order with them. */
#pragma once

#include "core/home.h"

#define ADSM_PENDING_MAX ADSM_ENDED_AHEAD	/* calls of one device that may be outstanding */
#define ADSM_OUTCOMES 1024		/* calls of one device whose end the library remembers */
#define ADSM_FAILURES 64		/* failed calls of one device whose sentences the library remembers */
#define ADSM_FAILURE_TEXT 512		/* bytes of such a sentence */
#define ADSM_COALESCED_MAX 64		/* queues of the program whose commands are one call */

struct adsm_caller;
struct adsm_conflict;

struct adsm_call {			/* a call that was launched and is not known to have ended */
	uint64_t seq;
	unsigned lane;			/* calls of one lane end in order */
	const char *kernel;		/* "" for the program's own commands */
	/* the thread whose sync reports how the call ended; 0: none (the program's own commands) */
	uint64_t thread;
	struct adsm_caller *caller;	/* the same thread (caller.h) */
	struct adsm_device_event event;	/* seq 0: the call has no event yet, or never gets one */
	/* if seq is 0, why the call's end will never be known; 0: the call gets an event */
	int failed;
	uint64_t given_ns;		/* when the device was given it; 0: no observer needs that */
};

struct adsm_outcome {			/* how a call ended */
	uint64_t seq;
	int status;			/* 0, or the call's error */
	struct adsm_span span;		/* when it ran; start_ns 0: not known */
};

struct adsm_failure {			/* why a call failed, as the device says it */
	uint64_t seq;
	char text[ADSM_FAILURE_TEXT];
};

/* See coalesced.h. */
struct adsm_coalesced {
	_Atomic uint32_t n_inside;	/* futex: number of threads that are giving a command to the driver */
	uint64_t seq;			/* the call that stands for the commands, until it gets an event; 0: none */
	_Atomic bool ending;		/* a thread is about to give it an event; changed with the lock */
	/* the queues that have such commands, each plus 1; 0 ends the list */
	_Atomic uintptr_t queues[ADSM_COALESCED_MAX];
};

/* The calls of a home. The home's lock guards all fields that say nothing else. */
struct adsm_pending {
	struct adsm_call calls[ADSM_PENDING_MAX];	/* seq % ADSM_PENDING_MAX */
	struct adsm_outcome outcomes[ADSM_OUTCOMES];	/* seq % ADSM_OUTCOMES */
	struct adsm_failure failures[ADSM_FAILURES];	/* the next one's place is n_failures % ADSM_FAILURES */
	uint64_t n_failures;
	uint64_t lane_seq[ADSM_LANES_MAX];	/* the last call of each lane */
	unsigned lanes;			/* the lanes that have had a call, by bits */
	struct adsm_coalesced coalesced;
	struct adsm_conflict *waiting;	/* calls that wait for conflicts, in the order of their coming: conflict.h */
	uint64_t alone_seq;		/* the last call that runs alone: an unnamed one, or a task */
	uint64_t own_seq;		/* the last call of a kernel that the library launched */
	uint64_t once_seq;		/* the last call with write-once objects: it may wait for the program */
	_Atomic uint64_t async_seq[ADSM_N_QUEUES];	/* the last explicit copy on each queue; 0: none */

	_Atomic int touching;		/* threads in a fault that wait for the end of a call */
	/* the most that the next call waits for threads in `touching`; 0: the default. With call_mutex. */
	uint64_t touch_grace_ns;
	/* no call begins before this time, so that a touch gets its turn; 0: no limit */
	_Atomic uint64_t calls_from_ns;
};

extern struct adsm_pending adsm_pendings[ADSM_MAX_DEVICES];

static inline struct adsm_pending *adsm_pending_of(const struct adsm_home *home)
{
	return &adsm_pendings[home->index];
}

static inline struct adsm_call *adsm_pending_call(const struct adsm_home *home, uint64_t seq)
{
	return &adsm_pending_of(home)->calls[seq % ADSM_PENDING_MAX];
}

/* Get how a call ended. False: it has not ended, or too many calls have ended since. Takes the lock. */
bool adsm_outcome_get(struct adsm_home *home, uint64_t seq, struct adsm_outcome *ret_outcome);
/* Note why call @seq has failed. Lock held. */
void adsm_failure_add(struct adsm_home *home, uint64_t seq, const char *text);
/* Get why call @seq has failed; "": the library does not know. Takes the lock. */
void adsm_failure_get(struct adsm_home *home, uint64_t seq, char ret_text[ADSM_FAILURE_TEXT]);
/* Copy a sentence; signal-safe. */
void adsm_failure_copy(char ret_text[ADSM_FAILURE_TEXT], const char *text);
/* Set the calling thread's error text: a call has failed with @status, and @why, unless it is "". Returns @status. */
int adsm_failure_tell(const struct adsm_home *home, const char *why, int status);
/* A home is being opened: it has no calls. */
void adsm_pending_init(struct adsm_home *home);
