/* SPDX-License-Identifier: MIT */
/* home.h - a device together with its objects: the lock, the numbers of its calls, the words that threads wait on, the
 * list of open objects. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adsm.h"
#include "backend.h"
#include "base/os.h"
#include "core/blocks.h"
#include "core/cause.h"
#include "core/ended.h"
#include "protocols/list.h"

/*
 * If a call fails, adsm_release_undo() makes the objects whose protocol does not detect accesses Dirty again, and the
 * next call has to send all of them. So a failed send of such an object, and a failed launch, is tried a second time.
 */
#define ADSM_UNDETECTED_TRIES 2
#define ADSM_AHEAD_MAX 16		/* windows that may wait for a fetch ahead */

struct adsm_copy_request;
struct adsm_home;
struct adsm_object;
struct adsm_replica;

/* A thread that notes the end of one lane's calls, if fault handlers may not ask the backend: run/wait/helpers.c. */
struct adsm_watcher {
	struct adsm_home *home;
	unsigned lane;
	struct adsm_thread thread;
	bool runs;			/* changed with the home's call mutex */
	_Atomic uint32_t word;		/* futex: there is something to watch */
};

/* Blocks that a sequential reader will need next. They are busy until the evictor, or a thread that waits for them, has
 * fetched them. */
struct adsm_ahead {
	struct adsm_object *object;
	struct adsm_change change;	/* begun */
	struct adsm_cause cause;	/* the cause of the reader's fault */
};

/* The device memory of a home's objects: resident.h. */
struct adsm_residents {
	bool on;			/* objects may be without device memory */
	uint32_t n_absent;		/* live objects that have none */
	uint64_t absent_size;		/* their bytes, in whole pages */
	/* bytes of objects that are being made, or have ended and still have memory: no slot shows whose it is. It
	 * becomes less only under the lock, with a notify. */
	_Atomic uint64_t in_transit;
	uint64_t round;			/* counts the calls that looked for room: see object->round */
	/* policies without limits, for objects that the device has no room for: their blocks are not sent early */
	struct adsm_policies parked;
};

/* Transfers so far: their bytes, and how long they took. */
struct adsm_rate {
	_Atomic uint64_t bytes, ns;
};

/* A device together with its objects. */
struct adsm_home {
	struct adsm_lock lock;		/* guards the objects, and all fields below that say nothing else */
	int index;
	struct adsm_device *device;
	_Atomic(void *) native_context;	/* the driver's handle of its context; NULL: not asked yet */
	struct adsm_mutex call_mutex;	/* the order of calls; not taken while the lock is held */
	_Atomic uint32_t tick;		/* futex: changes when anything that a thread waits for may have happened */
	_Atomic uint32_t n_waiting;	/* threads that wait on tick */
	struct adsm_rate rates[ADSM_TO_DEVICE + 1];	/* by direction; measured if there are several homes */
	struct adsm_object *open;	/* objects with a block that is not Invalid and closed */
	struct adsm_policies policies;
	struct adsm_residents residents;
	struct adsm_replica *replicas;	/* copies of objects of other homes: replica.h; used longest ago first */
	_Atomic uint64_t replicas_size;
	struct adsm_sends sends;
	struct adsm_ahead ahead[ADSM_AHEAD_MAX];	/* a ring */
	unsigned first_ahead, n_ahead;
	_Atomic unsigned n_undetected;	/* objects whose protocol does not detect accesses */
	_Atomic unsigned n_synced;	/* objects whose protocol changes states at syncs */
	/* a call cannot begin because accesses keep changing its objects: new accesses wait for it */
	bool gate;

	unsigned n_lanes;		/* orders of calls: caps.max_running, at least 1 */
	/* The numbers of calls that objects compare theirs with. run/wait/pending.h has the calls themselves. */
	uint64_t last_seq;		/* the last call that was launched */
	struct adsm_ended ended;
	uint64_t unnamed_seq;		/* the last unnamed call, or call that is treated as one (ADSM_PAPER=1) */
	uint64_t unknown_seq;		/* the last call whose objects are really unknown */
	/* the first call that was found to have ended by the loss of the device; 0: none */
	uint64_t lost_seq;
	/* the calls that ended by the loss: bit seq % ADSM_ENDED_AHEAD. Later calls do not exist. */
	uint64_t lost[ADSM_ENDED_AHEAD / 64];
	/* commands of the program may join the last one's call: no object was opened or made since; changed with the
	 * lock */
	_Atomic bool coalesces;
	/* the device is lost, and threads that wait for its write-once objects have been woken */
	_Atomic bool once_lost;

	/* the helper threads: run/wait/helpers.c */
	struct adsm_thread evictor, copier;
	struct adsm_watcher watchers[ADSM_LANES_MAX];	/* of lanes that have had a call */
	_Atomic int copier_id;		/* thread id of the copier; 0: it has not begun */
	_Atomic bool has_evictor;
	bool has_service;
	bool evictor_sleeps;
	_Atomic bool stop;
	_Atomic uint32_t evict_word, copy_word;
	_Atomic(struct adsm_copy_request *) copy_requests;
};

static inline void adsm_rate_add(struct adsm_home *home, enum adsm_direction direction, uint64_t bytes, uint64_t ns)
{
	atomic_fetch_add_explicit(&home->rates[direction].bytes, bytes, memory_order_relaxed);
	atomic_fetch_add_explicit(&home->rates[direction].ns, ns, memory_order_relaxed);
}

extern struct adsm_home adsm_homes[ADSM_MAX_DEVICES];
extern _Atomic int adsm_n_homes;

/* The home of device @index; ADSM_DEVICE_CURRENT: the device of this thread. */
int adsm_home_get(int index, struct adsm_home **ret_home);
/* Also ADSM_DEVICE_ANY: the thread keeps its device, for its allocations. */
int adsm_home_set(int index);
/* Does this thread leave the device of a call to the library, and is there a choice? */
bool adsm_home_any(void);
/* The home whose device has this driver's context; NULL: no home has it. */
struct adsm_home *adsm_home_of(void *context);
/* Why an operation of a home fails, in words. If the device is lost, this is the reason of the loss. */
const char *adsm_home_reason(const struct adsm_home *home, int error);

/* Is a call known to have ended? Call 0 stands for no call. */
static inline bool adsm_call_ended(struct adsm_home *home, uint64_t seq)
{
	return adsm_ended_has(&home->ended, seq);
}

/* Are all calls up to @seq known to have ended? */
static inline bool adsm_calls_ended(struct adsm_home *home, uint64_t seq)
{
	return adsm_ended_next(&home->ended) > seq;
}

/* The first call that is not known to have ended, or 0. Lock held. */
static inline uint64_t adsm_call_unfinished(struct adsm_home *home)
{
	return adsm_calls_ended(home, home->last_seq) ? 0 : adsm_ended_next(&home->ended);
}

/* Has the call ended by the loss of the device? Lock held. */
static inline bool adsm_call_lost(const struct adsm_home *home, uint64_t seq)
{
	return home->lost_seq && seq && seq + ADSM_ENDED_AHEAD > home->last_seq &&
		home->lost[seq / 64 % (ADSM_ENDED_AHEAD / 64)] >> seq % 64 & 1;
}

/*
 * Ask the device whether a call has ended that is not known to have ended. Set by run/wait/pending.c. Lock held.
 *
 * Returns 1 and the status of the call, 0, or a negative errno.
 */
extern int (*adsm_call_query)(struct adsm_home *home, uint64_t seq, int *ret_status);

/* ---- the lock: signals are blocked by adsm_os_signals_block() while it is held */

void adsm_home_lock(struct adsm_home *home, struct adsm_sigset *ret_old);
/* Give the lock back, and wake the evictor if it has something to do. @old NULL: signals stay blocked. */
void adsm_home_unlock(struct adsm_home *home, const struct adsm_sigset *old);
/* The same, on the path of a fault. */
static inline void adsm_home_leave(struct adsm_home *home, const struct adsm_sigset *old)
{
	/* Is a batch due, a block queued, or a fetch ahead requested? */
	bool wake = home->evictor_sleeps && (home->n_ahead || home->sends.queued.oldest ||
		(!home->sends.failed && adsm_protocol_options.evict_batch != 1 &&
		 adsm_policy_victim(&home->policies, false)));

	if (wake)
		home->evictor_sleeps = false;
	adsm_unlock(&home->lock);
	if (wake)
		adsm_os_poke(&home->evict_word);
	if (old)
		adsm_os_signals_restore(old);
}

/* ---- with the lock held */

/* Wait for a change: gives the lock back, sleeps until home->tick changes, takes the lock again. */
void adsm_home_wait(struct adsm_home *home);
static inline void adsm_home_notify(struct adsm_home *home)
{
	atomic_fetch_add(&home->tick, 1);
	if (atomic_load(&home->n_waiting))
		adsm_os_wake(&home->tick, INT32_MAX, false);
}
