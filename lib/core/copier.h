/* SPDX-License-Identifier: MIT */
/*
 * copier.h - calling the backend in another thread: for threads inside a fault or signal handler, where a backend that
 * is not made for that may not be called. Their requests queue here; the copier (helpers.c) serves them.
 */
#ifndef ADSM_COPIER_H
#define ADSM_COPIER_H

#include "base/log.h"
#include "core/home.h"

/* Let the copier run something, and wait for it. */
int adsm_copier_run(struct adsm_home *home, int (*run)(void *arg), void *arg);
/* Run something that calls the backend: in another thread, where this one may be in a signal handler and the
 * backend is not made for that. Signals are blocked. */
static inline int adsm_backend_run(struct adsm_home *home, int (*run)(void *arg), void *arg)
{
	return adsm_in_fault && home->has_service ? adsm_copier_run(home, run, arg) : run(arg);
}

/*
 * Let the copier run something, and wait for it until @until_ns at most: true when it has ended. Else @arg stays in
 * use. Once for each home.
 */
bool adsm_copier_run_until(struct adsm_home *home, int (*run)(void *arg), void *arg, uint64_t until_ns);
/* The copier: run what there is; false: nothing was. */
bool adsm_copier_serve(struct adsm_home *home);

/*
 * A thread that waits for the copier looks at it each time after so long. If the copier has waited for one and the same
 * lock all through ADSM_LOOKS looks, then the waiting thread itself has that lock, because its signal handler has
 * interrupted malloc() or a driver, or nobody gives the lock back: that ends the process.
 */
extern uint64_t adsm_look_ns;
#define ADSM_LOOKS 5

#endif
