/* SPDX-License-Identifier: MIT */
/*
 * transfer.h - moving bytes between alias and device: who may call the backend, the counters, and the
 * helper threads (the evictor; for backends whose copies may not run in a fault handler, two more).
 */
#ifndef ADSM_TRANSFER_H
#define ADSM_TRANSFER_H

#include "core/block.h"

/* Time this thread has spent in transfers. */
extern _Thread_local uint64_t adsm_moved_ns;

/*
 * Move a range of an object, synchronously and without the lock. @offset, @size: bytes, inside the caller's
 * size. Counts bytes, transfers and time.
 */
int adsm_transfer(struct adsm_object *object, enum adsm_direction direction, size_t offset, size_t size);

/* Run something that calls the backend: in another thread, where this one may be in a signal handler and the
 * backend is not made for that. Signals are blocked. */
int adsm_backend_run(struct adsm_home *home, int (*run)(void *arg), void *arg);

/*
 * Let the copier run something, and wait for it until @until_ns at most: true when it has ended. Else @arg stays in
 * use. Once for each home.
 */
bool adsm_service_run_until(struct adsm_home *home, int (*run)(void *arg), void *arg, uint64_t until_ns);

/*
 * Who waits for that other thread looks at it, each time after so long. Has it waited for one lock all through
 * ADSM_LOOKS of them, that no other thread is known to have and go on, then the waiting thread itself has it, whose
 * handler has interrupted malloc() or a driver, or nobody gives it back: that ends the process.
 */
extern uint64_t adsm_look_ns;
#define ADSM_LOOKS 5

/* Start the helpers a home needs: the service threads, or (once an object needs it) the evictor. */
int adsm_service_start(struct adsm_home *home);
int adsm_evictor_start(struct adsm_home *home);
void adsm_helpers_stop(struct adsm_home *home);

/* Wake the evictor. Lock held or not. */
void adsm_evictor_wake(struct adsm_home *home);

/* What the watcher does when it is poked: until all calls have ended. Set by the manager. */
extern void (*adsm_watch)(struct adsm_home *home);

#endif
