/* SPDX-License-Identifier: MIT */
/*
 * task_crew.h - the workers of the task that runs: which of them do, what becomes of all when none does, or when one
 * does what it may not.
 */
#ifndef ADSM_PROCESS_TASK_CREW_H
#define ADSM_PROCESS_TASK_CREW_H

#include "pool.h"

#include <setjmp.h>

#define ADSM_TASK_OWNER 0xfffu		/* in a lock's word: who has it, from 1; 0: nobody */
#define ADSM_TASK_FAILED 0x80000000u	/* in .left of the task: it has, and who waits for the end is to look again */

/* Why a worker is woken. */
enum { ADSM_TASK_TRY = 1, ADSM_TASK_LEAVE = 2 };

struct adsm_task_thread {		/* a worker, and its thread, which stays for later tasks */
	_Alignas(64) struct adsm_task_worker base;
	uint32_t id;			/* index + 1: what a lock's word says */
	uint64_t n_locks, n_unlocks, n_waits, n_handovers, work_ns, lock_wait_ns, barrier_wait_ns;
	struct adsm_task_hot hot[ADSM_TASK_HOT];
	struct adsm_task_thread *next;	/* in the queue of a lock, and under its mutex */
	_Atomic uint32_t waits_for;
	const _Atomic uint32_t *_Atomic lock_word;	/* of the lock that it waits for */
	_Alignas(64) _Atomic uint32_t wake;	/* futex; ADSM_TASK_TRY and so on */
	_Atomic uint32_t go;		/* futex: the number of the task it is to run */
	jmp_buf leave;
};

struct adsm_task {			/* the one that runs */
	const struct adsm_pool_launch *launch;
	const char *name;
	uint32_t n;
	uint64_t spin_ns;
	int status;
	char *text;
	uint64_t n_barriers;
	_Alignas(64) _Atomic uint32_t failed;
	_Alignas(64) _Atomic uint32_t barrier;	/* futex: how many have been passed */
	_Atomic uint32_t sleepers;	/* at the barrier */
	_Alignas(64) _Atomic uint32_t left;	/* futex: workers whose threads are not yet done; ADSM_TASK_FAILED */
	_Atomic uint32_t n_ended, n_in_locks;
	_Atomic uint32_t *running;	/* how many have not stopped, for who looks on from outside, if anybody */
	void (*_Atomic wake_others)(void);	/* those who sleep for what the task has not; NULL: there are none */
};

extern struct adsm_task adsm_task;
extern struct adsm_task_thread *adsm_task_threads[ADSM_TASK_WORKERS_MAX];

/* The task has failed, for the first reason given: its workers leave. "task 'name': " is put before. */
void adsm_task_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same of a worker that waits for something which is not the task's, and behind that those that have stopped. */
void adsm_task_fail_waiting(int error, const char *text);
/* Until who says so has told all, who may be another thread. */
void adsm_task_failed_wait(void);
/* The calling worker leaves the task that has failed. */
_Noreturn void adsm_task_leave(struct adsm_task_thread *self);
/*
 * The calling worker, to be woken by another one, waits from now on; and another one goes on: said by who wakes it,
 * before. So nobody runs only when nobody can be woken any more: true to who came last.
 */
bool adsm_task_stop(struct adsm_task_thread *self);
void adsm_task_go(struct adsm_task_thread *other);
/* What to do then. Returns where all were at the barrier, which is passed; else the task has failed. */
void adsm_task_all_stopped(void);
/* Is it still worth to stay awake? *@until, when not, starts as 0. */
bool adsm_task_spins(uint64_t *until);
/* When something begins that is to be recorded; 0 where nothing is. */
uint64_t adsm_task_since(void);
/* The calling worker has waited since then, for this; it returns for how long. */
uint64_t adsm_task_waited(const struct adsm_task_thread *self, uint64_t since, uint32_t what);
/* All run. */
void adsm_task_start(void);
/* The calling worker waits for all others at the barrier. */
void adsm_task_barrier(struct adsm_task_worker *worker);

#endif
