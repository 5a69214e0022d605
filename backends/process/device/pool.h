/* SPDX-License-Identifier: MIT */
/* pool.h - the threads of a device process, which run the blocks of launches: one launch at a time in each lane. */
#pragma once

#include "adsm_kernel.h"
#include "process/shared.h"

struct adsm_pool_launch;

/* How threads run blocks, if they do more than call the kernel. Each thread that runs any blocks calls begin, run…,
 * end. */
struct adsm_pool_ops {
	void (*begin)(const struct adsm_pool_launch *launch);
	void (*run)(const struct adsm_pool_launch *launch, const struct adsm_kernel_block *block);
	void (*end)(const struct adsm_pool_launch *launch);
};

/* How the workers of a task run, if that is more than calling the task: their functions, and the code around each
 * worker. */
struct adsm_task_ops {
	const struct adsm_task_calls *calls;
	void (*run)(struct adsm_task_worker *worker, const struct adsm_pool_launch *launch);
	/* Return a lock that the worker has, for crash messages; ADSM_TASK_LOCKS_MAX: it has none. @worker: the index
	 * of its thread. NULL: the locks are those of task_lock.h. */
	uint32_t (*held)(uint32_t worker);
	/* adsm_task_fail_by() reports the error with this function, too; NULL: it reports to the crew only. */
	void (*failed)(uint32_t worker, int error);
};

struct adsm_pool_launch {
	uint64_t number;		/* for crash messages; 0: not known */
	uint32_t lane;			/* less than ADSM_PROCESS_LANES */
	adsm_kernel_run *run;		/* NULL: it is a task, which the pool does not run (task.h) */
	adsm_task_run *task;
	adsm_kernel_step *step;		/* not NULL: blocks may wait for each other, and can be left */
	const char *name;		/* the kernel's name, ADSM_PROCESS_NAME bytes */
	struct adsm_task_record *record;	/* of a task; NULL: nothing is recorded */
	/* A bit for each argument that is a write-once object which the launch may set. */
	uint32_t sets;
	bool waits;			/* blocks may wait for units that earlier blocks set: they begin in order */
	const struct adsm_pool_ops *ops;	/* NULL: the kernel is called directly */
	const struct adsm_task_ops *task_ops;	/* NULL: memory is coherent here */
	_Atomic uint64_t *block_ns;	/* how long a block of the kernel took in its last launch */
	struct adsm_kernel_block block;	/* without its index */
	/* The interval of the grid to run, linear, x fastest: first block, number of blocks. */
	uint64_t first, n;
	const void *args[ADSM_PROCESS_MAX_ARGS];
};

/* Call this at the start if other processes need the processors, too: waiting threads then sleep immediately. */
void adsm_pool_crowd(void);
/* How long a thread that runs launches spins for the next one: about as long as waking it would take. 0 with one
 * processor, where no other thread could submit a launch meanwhile. */
uint64_t adsm_pool_spin_ns(void);
/* Start a detached thread of a device process, whose crash will be recorded. Returns 0 or a negative errno. */
int adsm_pool_thread(void *(*run)(void *));
/* Call this before the first launch. @n_threads includes the thread that runs a launch. */
int adsm_pool_start(unsigned n_threads);
/* Call this before, if launches come in several lanes, each from a thread of its own. */
void adsm_pool_lanes(unsigned n_lanes);
/* The block that this thread runs. Set only for tasks, and for launches whose blocks may wait. */
struct adsm_pool_block {
	const struct adsm_pool_launch *launch;	/* NULL: no block */
	uint64_t number;		/* linear, x fastest */
	void *leave;			/* a jmp_buf; not set for tasks */
};

extern _Thread_local struct adsm_pool_block adsm_pool_block;
/* Where to write the number of threads that run blocks which may wait, or are about to; NULL: nowhere. */
extern _Atomic uint32_t *_Atomic adsm_pool_running;
/* The number of threads that run a launch of such blocks. */
static inline uint32_t adsm_pool_crew(uint64_t n_blocks, unsigned n_threads)
{
	return n_blocks <= 1 ? (uint32_t)n_blocks : n_threads;
}
/* The next launch will be one of blocks that may wait: count its threads from now on. Beginning the launch does the
 * same. */
void adsm_pool_expect(uint64_t n_blocks);
/* For threads that run blocks which may wait. The launch of the calling thread ends with this error, and no further
 * block begins. Returns false if the launch has failed before: the first error and its text are kept. */
bool adsm_pool_fail(int error, const char *text);
/* That error of the launch; 0: there is none. */
int adsm_pool_error(void);
/* Leave the calling thread's block, which cannot continue. The launch has failed. */
_Noreturn void adsm_pool_leave(void);
/* Run a launch, and return when it has ended: 0, or the error of adsm_pool_fail(), or -ENOMEM. One launch at a
 * time in each lane. */
int adsm_pool_run(const struct adsm_pool_launch *launch);
/* The text of the last adsm_pool_fail() in the lane where the calling thread has run a launch; else in lane 0. */
const char *adsm_pool_failure(void);
/*
 * The same for a caller that does other work meanwhile: another thread runs the launch with the pool. Returns 0 or a
 * negative errno. @launch must stay valid until the launch is done. @wake: called in that thread at the end, or NULL.
 */
int adsm_pool_begin(const struct adsm_pool_launch *launch, void (*wake)(void));
/* Has the launch of adsm_pool_begin() ended? If so, the next function returns its result. */
bool adsm_pool_done(void);
int adsm_pool_result(void);
