/* SPDX-License-Identifier: MIT */
/* task_crew.h - the workers of the running task: which of them run, what happens if none runs, and errors of
 * workers. */
#pragma once

#include "pool.h"
#include "task_text.h"

#include <pthread.h>
#include <setjmp.h>

#define ADSM_TASK_OWNER 0xfffu		/* in a lock's word: the id of the worker that holds it; 0: none */
#define ADSM_TASK_FAILED 0x80000000u	/* in task.left: it has failed; the thread that waits checks again */

/* Why a worker is woken. */
enum { ADSM_TASK_TRY = 1, ADSM_TASK_LEAVE = 2 };

struct adsm_task_thread {		/* a worker and its thread, which later tasks use again */
	_Alignas(64) struct adsm_task_worker base;
	uint32_t id;			/* index + 1, as in a lock's word */
	uint32_t number;		/* for messages: its index among the workers of all processes */
	uint64_t counts[ADSM_TASK_N_COUNTS], n_unlocks;	/* of this worker in this task */
	struct adsm_task_hot hot[ADSM_TASK_HOT];
	struct adsm_task_thread *next;	/* in the queue of a lock or a flag, under its mutex */
	_Atomic uint32_t waits_for;
	const _Atomic uint32_t *_Atomic lock_word;	/* of the lock that it waits for */
	_Alignas(64) _Atomic uint32_t wake;	/* futex; ADSM_TASK_TRY and so on */
	_Atomic uint32_t go;		/* futex: the number of the task that it runs next */
	jmp_buf leave;
};

struct adsm_task {			/* the running task */
	const struct adsm_pool_launch *launch;
	const char *name;
	uint32_t n;
	uint64_t spin_ns;
	int status;
	char *text;
	uint64_t n_barriers;
	uint64_t flags;			/* the word of a flag that is clear; other in each task */
	_Alignas(64) _Atomic uint32_t failed;
	_Alignas(64) _Atomic uint32_t barrier;	/* futex: number of barriers that were passed */
	_Atomic uint32_t sleepers;	/* workers that sleep at the barrier */
	_Alignas(64) _Atomic uint32_t left;	/* futex: workers whose threads are not done, ADSM_TASK_FAILED */
	_Atomic uint32_t n_ended, n_waiting;	/* n_waiting: for locks or flags */
	_Atomic uint32_t *running;	/* number of workers that have not stopped; NULL: no process reads it */
	void (*_Atomic wake_others)(void);	/* wakes workers that wait for something outside; may be NULL */
};

extern struct adsm_task adsm_task;
extern struct adsm_task_thread *adsm_task_threads[ADSM_TASK_WORKERS_MAX];
/* The worker of the calling thread; NULL: the thread is not a worker's. */
extern _Thread_local struct adsm_task_thread *adsm_task_mine;

/* Let the task fail: all workers leave. Only the first error counts. Its text begins with "task 'name': ". */
void adsm_task_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for an error of the calling worker: the text begins with "worker N ", too. The worker leaves. */
_Noreturn void adsm_task_fail_by(struct adsm_task_thread *self, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Messages about errors of workers, the same on all devices. */
#define ADSM_TASK_NO_LOCK "uses lock %u: the largest lock number is %u"
#define ADSM_TASK_NO_FLAG "uses flag %u: the largest flag number is %u"
#define ADSM_TASK_HAS_LOCK "takes lock %u, which it already holds"
#define ADSM_TASK_KEEPS_LOCK "has ended without releasing lock %u%s"
#define ADSM_TASK_AND_MORE " and others"
#define ADSM_TASK_GIVES "releases lock %u, which worker %u holds"
#define ADSM_TASK_GIVES_FREE "releases lock %u, which no worker holds"
#define ADSM_TASK_FREES "frees %p, which is not memory allocated by ADSM_TASK_ALLOC"
/* Explain a deadlock: none of the @n workers can continue. */
void adsm_task_describe_deadlock(uint32_t n, struct adsm_task_state (*state_of)(uint32_t worker),
				 char ret_text[ADSM_PROCESS_TEXT]);
/* As adsm_task_fail(), for a worker that waits for something outside the task. The text lists stopped workers, too. */
void adsm_task_fail_waiting(int error, const char *text);
/* Wait until the thread that lets the task fail has woken all workers. */
void adsm_task_failed_wait(void);
/* The calling worker leaves the task that has failed. */
_Noreturn void adsm_task_leave(struct adsm_task_thread *self);
/* Stop: from now on the calling worker waits until another worker wakes it. Go: @other runs again; the caller wakes it
 * after this. So no worker runs only if no worker can be woken any more. The last worker that stops gets true. */
bool adsm_task_stop(struct adsm_task_thread *self);
void adsm_task_go(struct adsm_task_thread *other);
/* Stop, release the mutex, and sleep until another worker has called adsm_task_go() and set ADSM_TASK_TRY. */
void adsm_task_sleep(struct adsm_task_thread *self, pthread_mutex_t *mutex);
/* Call this after adsm_task_stop() has returned true: all workers pass the barrier, or the task fails or is over. */
void adsm_task_all_stopped(void);
/* Should the worker stay awake any longer? *@until is 0 before the first call. */
bool adsm_task_spins(uint64_t *until);
/* The time at which a wait begins; 0 if waits are not recorded. */
uint64_t adsm_task_since(void);
/* Record that the calling worker has waited since @since. @what: as in struct adsm_task_wait. */
void adsm_task_waited(struct adsm_task_thread *self, uint64_t since, uint32_t what);
/* Count all workers as running. */
void adsm_task_start(void);
/* The calling worker waits for all others at the barrier. */
void adsm_task_barrier(struct adsm_task_worker *worker);
