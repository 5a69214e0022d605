/* SPDX-License-Identifier: MIT */
/* pool.h - the threads of a device process, which run the blocks of one launch at a time. */
#ifndef ADSM_PROCESS_POOL_H
#define ADSM_PROCESS_POOL_H

#include "adsm_kernel.h"
#include "process/shared.h"

struct adsm_pool_launch;

/* How threads run blocks, where that is more than calling the kernel. Each thread that runs some: begin, run…, end. */
struct adsm_pool_way {
	void (*begin)(const struct adsm_pool_launch *launch);
	void (*run)(const struct adsm_pool_launch *launch, const struct adsm_kernel_block *block);
	void (*end)(const struct adsm_pool_launch *launch);
};

/* How the workers of a task run, where that is more than calling it: what they call, and how each begins and ends. */
struct adsm_task_way {
	const struct adsm_task_calls *calls;
	void (*run)(struct adsm_task_worker *worker, const struct adsm_pool_launch *launch);
	void (*place)(char *ret_text, size_t size);	/* as adsm_crash_place; NULL: by the number of the thread */
};

struct adsm_pool_launch {
	adsm_kernel_run *run;		/* NULL: it is a task, which is not for the pool (task.h) */
	adsm_task_run *task;
	const char *name;		/* the kernel's, ADSM_PROCESS_NAME bytes */
	struct adsm_task_record *record;	/* of a task; NULL: nobody will ask */
	uint32_t sets;			/* arguments that are write-once objects and may be set, by bits */
	bool waits;			/* blocks may wait for such as come before them: they begin in order */
	const struct adsm_pool_way *way;	/* NULL: kernels are called */
	const struct adsm_task_way *task_way;	/* NULL: memory is coherent here */
	_Atomic uint64_t *block_ns;	/* how long one of the kernel's blocks took the last time */
	struct adsm_kernel_block block;	/* without the index */
	uint64_t first, n;		/* the interval of the grid to run, linear, x fastest */
	const void *args[ADSM_PROCESS_MAX_ARGS];
};

/* At the start: others want the processors, too. Threads that wait sleep at once. */
void adsm_pool_crowd(void);
/*
 * How long a thread that runs launches stays awake for the next one: as long as waking it would take. With one
 * processor nobody could give one meanwhile: 0.
 */
uint64_t adsm_pool_spin_ns(void);
/* A thread of a device process, detached, whose crash is written down: 0 or a negative errno. */
int adsm_pool_thread(void *(*run)(void *));
/* Before the first launch: @n_threads, of which who runs a launch is one. */
int adsm_pool_start(unsigned n_threads);
/* The block that this thread runs: of launches that may wait, and of tasks. Of others it is not noted. */
struct adsm_pool_block {
	const struct adsm_pool_launch *launch;	/* NULL: none */
	uint64_t number;		/* linear, x fastest */
	void *leave;			/* a jmp_buf; not of tasks */
};

extern _Thread_local struct adsm_pool_block adsm_pool_block;
/* How many threads run blocks that may wait, or are about to: where to write it; NULL: nowhere. */
extern _Atomic uint32_t *_Atomic adsm_pool_running;
/* So many run a launch of such blocks. */
static inline uint32_t adsm_pool_crew(uint64_t n_blocks, unsigned n_threads)
{
	return n_blocks <= 1 ? (uint32_t)n_blocks : n_threads;
}
/* The next launch will be one of so many: it counts from now on. Beginning it does the same. */
void adsm_pool_expect(uint64_t n_blocks);
/* Leave the block, which cannot go on: the launch ends with this error, and blocks that have not begun are left out. */
_Noreturn void adsm_pool_leave(int error, const char *text);
/* Run a launch, and return when it has ended: 0, or why it was left. One launch at a time. */
int adsm_pool_run(const struct adsm_pool_launch *launch);
/* The sentence of the last one that was left. */
const char *adsm_pool_failure(void);
/*
 * The same, for a caller that has other things to do: another thread runs it with the pool's. 0 or a negative errno.
 * The launch stays until it is done. @wake: called in that thread when it is, or NULL.
 */
int adsm_pool_begin(const struct adsm_pool_launch *launch, void (*wake)(void));
/* Whether the last launch that began has ended; and then, how. */
bool adsm_pool_done(void);
int adsm_pool_result(void);

#endif
