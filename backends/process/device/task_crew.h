/* SPDX-License-Identifier: MIT */
/*
 * task_crew.h - the workers of the task that runs: which of them do, what becomes of all when none does, or when one
 * does what it may not.
 */
#ifndef ADSM_PROCESS_TASK_CREW_H
#define ADSM_PROCESS_TASK_CREW_H

#include "pool.h"
#include "task_text.h"

#include <setjmp.h>

#define ADSM_TASK_OWNER 0xfffu		/* in a lock's word: who has it, from 1; 0: nobody */
#define ADSM_TASK_FAILED 0x80000000u	/* in .left of the task: it has, and who waits for the end is to look again */

/* Why a worker is woken. */
enum { ADSM_TASK_TRY = 1, ADSM_TASK_LEAVE = 2 };

struct adsm_task_thread {		/* a worker, and its thread, which stays for later tasks */
	_Alignas(64) struct adsm_task_worker base;
	uint32_t id;			/* index + 1: what a lock's word says */
	uint32_t number;		/* for messages: its index among the workers of all processes */
	uint64_t counts[ADSM_TASK_N_COUNTS], n_unlocks;	/* of this worker in this task */
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
/* The worker of the calling thread; NULL: the thread is not a worker's. */
extern _Thread_local struct adsm_task_thread *adsm_task_mine;

/* The task has failed, for the first reason given: its workers leave. "task 'name': " is put before. */
void adsm_task_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for an error of the calling worker: the text begins with "worker N ", too. The worker leaves. */
_Noreturn void adsm_task_fail_by(struct adsm_task_thread *self, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Messages about errors of workers, the same on all devices. */
#define ADSM_TASK_NO_LOCK "uses lock %u: the largest lock number is %u"
#define ADSM_TASK_HAS_LOCK "takes lock %u, which it already holds"
#define ADSM_TASK_KEEPS_LOCK "has ended without releasing lock %u%s"
#define ADSM_TASK_AND_MORE " and others"
#define ADSM_TASK_GIVES "releases lock %u, which worker %u holds"
#define ADSM_TASK_GIVES_FREE "releases lock %u, which no worker holds"
#define ADSM_TASK_FREES "frees %p, which is not memory allocated by ADSM_TASK_ALLOC"
/* Explain a deadlock: none of the @n workers can continue. */
void adsm_task_tell_deadlock(uint32_t n, struct adsm_task_seen (*see)(uint32_t worker),
			     char ret_text[ADSM_PROCESS_TEXT]);
/* As adsm_task_fail(), for a worker that waits for something outside the task. The text lists stopped workers, too. */
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
/* Record that the calling worker has waited since @since. @what: as in struct adsm_task_wait. */
void adsm_task_waited(struct adsm_task_thread *self, uint64_t since, uint32_t what);
/* All run. */
void adsm_task_start(void);
/* The calling worker waits for all others at the barrier. */
void adsm_task_barrier(struct adsm_task_worker *worker);

#endif
