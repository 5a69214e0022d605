/* SPDX-License-Identifier: MIT */
/* copier.h - calls of the backend by another thread. A thread inside a fault or signal handler must not call a backend
 * that is not signal-safe. It queues a request here, and the copier (run/wait/helpers.c) serves it. */
#pragma once

#include "base/log.h"
#include "core/home.h"

/* Let the copier run @run, and wait for its result. */
int adsm_copier_run(struct adsm_home *home, int (*run)(void *arg), void *arg);
/* Run @run, which calls the backend. If this thread is in a fault handler and the backend is not signal-safe, the
 * copier runs it. Signals are blocked. */
static inline int adsm_backend_run(struct adsm_home *home, int (*run)(void *arg), void *arg)
{
	return adsm_in_fault && home->has_service ? adsm_copier_run(home, run, arg) : run(arg);
}

/* Let the copier run @run, and wait until @until_ns at most; true if it has ended. If false, @arg stays in use. Only
 * one such request for each home. */
bool adsm_copier_run_until(struct adsm_home *home, int (*run)(void *arg), void *arg, uint64_t until_ns);
/* For the copier: run all requests; false: there was none. */
bool adsm_copier_serve(struct adsm_home *home);

/*
 * A thread that waits for the copier checks every adsm_look_ns what the copier waits for. If this is the same lock in
 * ADSM_LOOKS checks in a row, the wait cannot end: either the waiting thread itself holds the lock, because its signal
 * handler interrupted malloc() or a driver, or its holder never releases it. That ends the process.
 */
extern uint64_t adsm_look_ns;
#define ADSM_LOOKS 5
