/* SPDX-License-Identifier: MIT */
/* pool.h - the threads of a device process, which run the blocks of one launch at a time. */
#ifndef ADSM_PROCESS_POOL_H
#define ADSM_PROCESS_POOL_H

#include "adsm_kernel.h"
#include "process/shared.h"

/*
 * Waking a sleeping processor costs about as much: smaller grids are run by the caller alone. A thread that gives
 * launches stays awake as long for the next one.
 */
#define ADSM_POOL_WAKE_NS 50000

struct adsm_pool_launch {
	adsm_kernel_run *run;
	_Atomic uint64_t *block_ns;	/* how long one of the kernel's blocks took the last time */
	struct adsm_kernel_block block;	/* without the index */
	uint64_t first, n;		/* the interval of the grid to run, linear, x fastest */
	const void *args[ADSM_PROCESS_MAX_ARGS];
};

/* A thread of a device process, detached, whose crash is written down: 0 or a negative errno. */
int adsm_pool_thread(void *(*run)(void *));
/* Before the first launch: @n_threads, of which who runs a launch is one. */
int adsm_pool_start(unsigned n_threads);
/* Run a launch, and return when it has ended. One caller at a time. */
void adsm_pool_run(const struct adsm_pool_launch *launch);

#endif
