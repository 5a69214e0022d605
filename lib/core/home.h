/* SPDX-License-Identifier: MIT */
/*
 * home.h - a device and all that happens to its objects: the lock, the calls that run, the words that threads wait on,
 * the list of open objects.
 */
#ifndef ADSM_HOME_H
#define ADSM_HOME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adsm.h"
#include "backend.h"
#include "base/os.h"
#include "core/blocks.h"
#include "core/cause.h"
#include "protocols/list.h"

#define ADSM_PENDING_MAX 128		/* calls of one device that may be outstanding */
/* A call that fails begins anew with objects whose writes are not seen: so their part is tried again at once. */
#define ADSM_UNDETECTED_TRIES 2
#define ADSM_AHEAD_MAX 16		/* windows that may wait to be fetched ahead */
#define ADSM_GATHER_MAX 64		/* queues of the program's whose commands are one call */

struct adsm_caller;
struct adsm_copy_request;
struct adsm_object;

struct adsm_call {			/* a call that has been launched and not yet been seen to end */
	uint64_t seq;
	const char *kernel;		/* "": the program's own commands */
	uint64_t thread;		/* whose sync asks how it ended; 0: none's, the program's own commands */
	struct adsm_caller *caller;	/* the same: caller.h */
	struct adsm_device_event event;	/* seq 0: the call has none yet, or never will */
	int failed;			/* then: its end is not known, and will not be; 0: it gets one */
	uint64_t given_ns;		/* when it was given to the device; 0: nobody asks */
};

/* Blocks that a reader in sequence will want next; busy until the evictor, or who waits for them, has fetched them. */
struct adsm_ahead {
	struct adsm_object *object;
	struct adsm_change change;	/* begun */
	struct adsm_cause cause;	/* of the reader's fault */
};

/* See gather.h. */
struct adsm_gather {
	_Atomic bool open;		/* for more commands; changed with the lock */
	_Atomic uint32_t n_inside;	/* futex: threads that are giving one to the driver */
	uint64_t seq;			/* the call that stands for them, while it has no event; 0: there is none */
	_Atomic bool ending;		/* somebody is about to give it that; changed with the lock */
	_Atomic uintptr_t queues[ADSM_GATHER_MAX];	/* that have some, each plus 1; 0 behind the last */
};

/* A device and all that happens to its objects. */
struct adsm_home {
	struct adsm_lock lock;		/* everything below that says nothing else, and the objects */
	int index;
	struct adsm_device *device;
	_Atomic(void *) native_context;	/* what its driver calls it; NULL: not asked yet */
	struct adsm_mutex call_mutex;	/* not under the lock: the order of calls */
	_Atomic uint32_t tick;		/* futex: something a waiter waits for may have happened */
	_Atomic uint32_t n_waiting;	/* on tick */
	struct adsm_object *open;	/* objects with a block that is not Invalid and closed */
	struct adsm_policies policies;
	struct adsm_sends sends;
	struct adsm_ahead ahead[ADSM_AHEAD_MAX];	/* a ring */
	unsigned first_ahead, n_ahead;
	_Atomic unsigned n_undetected;	/* objects whose protocol sees no accesses */
	_Atomic unsigned n_synced;	/* those whose protocol has something to do at syncs */
	_Atomic int touching;		/* threads in a fault that wait for a call to end */
	bool gate;			/* a call waits for quiet: accesses wait for it */

	uint64_t last_seq;		/* of the calls launched */
	uint64_t kernel_end_ns;		/* of the last that is known to have ended, where somebody asks */
	_Atomic uint64_t completed;	/* all calls up to here have ended */
	uint64_t unnamed_seq;		/* the last call that may use any object, or is taken to (ADSM_PAPER=1) */
	uint64_t unknown_seq;		/* the last call that really may: nothing says which objects it uses */
	uint64_t own_seq;		/* the last one of a kernel of the library's */
	struct adsm_gather gather;
	uint64_t once_seq;		/* the last call with write-once objects: it may wait for the program */
	_Atomic bool once_lost;		/* lost, and who waits for write-once objects of it is told */
	uint64_t lost_seq;		/* the first call that the loss of the device ended; 0: none */
	struct adsm_call pending[ADSM_PENDING_MAX];	/* seq % ADSM_PENDING_MAX */
	uint64_t touch_grace_ns;	/* what the next call waits for those at most; 0: the usual. With call_mutex. */
	_Atomic uint64_t calls_from_ns;	/* no call begins before: a touch wants its turn; 0: none does */
	_Atomic uint64_t async_seq[ADSM_N_QUEUES];	/* the last explicit copies, by queue; 0: none */

	/* the helper threads: see helpers.c */
	struct adsm_thread evictor, copier, watcher;
	_Atomic int copier_id;		/* of its thread; 0: it has not begun */
	_Atomic bool has_evictor;
	bool has_service;
	bool evictor_sleeps;
	_Atomic bool stop;
	_Atomic uint32_t evict_word, copy_word, watch_word;
	_Atomic(struct adsm_copy_request *) copy_requests;
};

extern struct adsm_home adsm_homes[ADSM_MAX_DEVICES];
extern _Atomic int adsm_n_homes;

/* The device of this thread, or the one of an index. */
int adsm_home_get(int index, struct adsm_home **ret_home);
int adsm_home_set(int index);
/* The home of a driver's context; NULL where none has it. */
struct adsm_home *adsm_home_of(void *context);
/* Why something of a home fails, in words: a lost device knows best. */
const char *adsm_home_reason(const struct adsm_home *home, int error);

/* ---- the lock: signals are blocked by adsm_os_signals_block() while it is held */

void adsm_home_lock(struct adsm_home *home, struct adsm_sigset *ret_old);
/* Give the lock back, and wake the evictor if there is something for it to do. @old NULL: signals stay blocked. */
void adsm_home_unlock(struct adsm_home *home, const struct adsm_sigset *old);
/* The same, on the path of a fault. */
static inline void adsm_home_leave(struct adsm_home *home, const struct adsm_sigset *old)
{
	/* Is a batch due, a block queued, or a window wanted? */
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

/* Wait for something to change: drops the lock, sleeps until home->tick moves, takes the lock again. */
void adsm_home_wait(struct adsm_home *home);
static inline void adsm_home_notify(struct adsm_home *home)
{
	atomic_fetch_add(&home->tick, 1);
	if (atomic_load(&home->n_waiting))
		adsm_os_wake(&home->tick, INT32_MAX, false);
}

#endif
