/* SPDX-License-Identifier: MIT */
/*
 * step.h - explores the library's own code for waits: every interleaving of a few threads.
 *
 * A model is a .c file that includes this header first, then the library's .c file, and ends with scenarios: what a few
 * threads do. Here each atomic access, each futex call and each lock is a step. The explorer (step.c) tries every order
 * of the threads' steps, remembers the states that it has seen, and reports, with the interleaving,
 *
 *	- a state in which nobody can go on, and a thread has not ended: a lost wake-up, or a deadlock;
 *	- a state after which no thread's end can be reached any more, though threads go on;
 *	- a STEP_CHECK() that does not hold.
 *
 * Memory is sequentially consistent: that weaker orders suffice is not shown. What threads do between two steps is
 * one step with the one before; so data without atomics has to be protected by a lock, which ThreadSanitizer checks.
 */
#ifndef TEST_STEP_H
#define TEST_STEP_H

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- scenarios */

enum step_time {
	STEP_ANY_TIME,			/* a wait with a limit may end by it at any moment */
	STEP_NO_TIME,			/* no limit ends a wait: it has to be woken */
};

struct step_scenario {
	const char *name;
	void (*start)(void);		/* sets memory up and names the threads; not explored */
	bool (*settled)(void);		/* nobody can go on, and threads have ended: is all done? NULL: it is */
	enum step_time time;
	unsigned signals;		/* each sleep may end with EINTR, so often in each thread */
	/*
	 * So often may a thread be stopped that could go on, in all; 0: as often as there are steps. The other one is
	 * for TEST_FULL=1. With such a limit it is not looked whether threads go round for ever.
	 */
	unsigned preemptions, full_preemptions;
};

enum { STEP_SERVER = 1,			/* it may sleep for ever when all others have ended */
       STEP_MORTAL = 2 };		/* a SIGKILL may end it before any of its steps */

/* From start() only. */
void step_thread(const char *name, void (*run)(void *arg), void *arg, unsigned flags);
/* A thread: go on when the condition holds. The condition must not change anything. */
void step_await(bool (*condition)(void *arg), void *arg);
/* A thread: each of 0 … n - 1 is tried. */
unsigned step_choose(unsigned n);
/* A thread: it ends here. */
_Noreturn void step_end(void);
/* The thread of that name was killed; or it has ended, in whatever way. */
bool step_killed(const char *name);
bool step_over(const char *name);
/* Memory outside of the program's own variables that a scenario changes; from start() only. */
void step_memory(void *p, size_t size);
/* Variables that no thread of this scenario changes: it is checked, and makes the exploration faster. From start(). */
void step_constant(void *p, size_t size);
/* Variables that decide nothing: what is done to them is no step of its own. From start() only. */
void step_plain(void *p, size_t size);

#define STEP_CHECK(condition) step_check(condition, #condition, __FILE__, __LINE__)
void step_check(bool holds, const char *text, const char *file, int line);

/*
 * A function of the library's that the code names, and no scenario calls. A model that has some begins with
 * STEP_HAS_NEVER.
 */
#define STEP_HAS_NEVER static __attribute__((used)) void step_never(void) { abort(); }
#define STEP_NEVER(name) __asm__(".globl " #name "\n.set " #name ", step_never");

/* Explores the scenarios that argv names, or all; the last one has no name. The exit status. */
int step_main(int argc, char **argv, const struct step_scenario *scenarios);

/* ---- what replaces atomics, locks, the C library's memory and thread-local variables */

void step_at(const volatile void *word, const char *file, int line, const char *text);
void step_saw(uint64_t value);
void step_lock(void *lock, const char *file, int line, const char *text);
bool step_trylock(void *lock, const char *file, int line, const char *text);
void step_unlock(void *lock);
int step_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns, bool shared, const char *file, int line,
	      const char *text);
void step_wake(_Atomic uint32_t *word, int n, bool shared, const char *file, int line, const char *text);
void *step_alloc(size_t size);		/* zeroed; one of the program's variables, so it goes back with a state */
void *step_calloc(size_t n, size_t size);
void *step_aligned_alloc(size_t alignment, size_t size);
void step_free(void *p);		/* nothing: it is there until the end */

#ifndef STEP_ENGINE

/* The ranks of locks are no part of waiting. */
#ifndef NDEBUG
#define NDEBUG
#endif

#ifdef __clang__
#define STEP_LOAD(p) __c11_atomic_load(p, __ATOMIC_SEQ_CST)
#define STEP_STORE(p, v) __c11_atomic_store(p, v, __ATOMIC_SEQ_CST)
#define STEP_EXCHANGE(p, v) __c11_atomic_exchange(p, v, __ATOMIC_SEQ_CST)
#define STEP_COMPARE(p, e, v) __c11_atomic_compare_exchange_strong(p, e, v, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#define STEP_FETCH(how, p, v) __c11_atomic_fetch_##how(p, v, __ATOMIC_SEQ_CST)
#else
#define STEP_LOAD(p) __atomic_load_n(p, __ATOMIC_SEQ_CST)
#define STEP_STORE(p, v) __atomic_store_n(p, v, __ATOMIC_SEQ_CST)
#define STEP_EXCHANGE(p, v) __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST)
#define STEP_COMPARE(p, e, v) __atomic_compare_exchange_n(p, e, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#define STEP_FETCH(how, p, v) __atomic_fetch_##how(p, v, __ATOMIC_SEQ_CST)
#endif

/*
 * Operands first: they may be steps themselves. Who asks for no order says that nothing depends on it, counters mostly:
 * that is one step with what comes before.
 */
#define STEP_POINT(order, text) \
	((order) == memory_order_relaxed ? (void)0 : step_at(step_p, __FILE__, __LINE__, text))
#define STEP_READ(p, order) __extension__({ \
	__typeof__(p) step_p = (p); \
	STEP_POINT(order, "load " #p); \
	__auto_type step_v = STEP_LOAD(step_p); \
	step_saw((uint64_t)step_v); \
	step_v; })
#define STEP_WRITE(p, v, order) __extension__({ \
	__typeof__(p) step_p = (p); \
	__typeof__(STEP_LOAD(step_p)) step_n = (v); \
	STEP_POINT(order, "store " #p " = " #v); \
	STEP_STORE(step_p, step_n); \
	step_saw((uint64_t)step_n); })
#define STEP_CHANGE(what, p, v, order, op) __extension__({ \
	__typeof__(p) step_p = (p); \
	__typeof__(STEP_LOAD(step_p)) step_n = (v); \
	STEP_POINT(order, what " " #p ", " #v); \
	__auto_type step_v = op; \
	step_saw((uint64_t)step_v); \
	step_v; })
#define STEP_CAS(p, e, v, order) __extension__({ \
	__typeof__(p) step_p = (p); \
	__typeof__(e) step_e = (e); \
	__typeof__(STEP_LOAD(step_p)) step_n = (v); \
	STEP_POINT(order, "compare and exchange " #p ", " #v); \
	bool step_did = STEP_COMPARE(step_p, step_e, step_n); \
	step_saw((uint64_t)step_did); \
	step_did; })

#undef atomic_load
#undef atomic_load_explicit
#undef atomic_store
#undef atomic_store_explicit
#undef atomic_exchange
#undef atomic_exchange_explicit
#undef atomic_compare_exchange_strong
#undef atomic_compare_exchange_strong_explicit
#undef atomic_compare_exchange_weak
#undef atomic_compare_exchange_weak_explicit
#undef atomic_fetch_add
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub
#undef atomic_fetch_sub_explicit
#undef atomic_fetch_or
#undef atomic_fetch_or_explicit
#undef atomic_fetch_and
#undef atomic_fetch_and_explicit
#undef atomic_init
#define atomic_load_explicit(p, order) STEP_READ(p, order)
#define atomic_store_explicit(p, v, order) STEP_WRITE(p, v, order)
#define atomic_exchange_explicit(p, v, order) STEP_CHANGE("exchange", p, v, order, STEP_EXCHANGE(step_p, step_n))
#define atomic_compare_exchange_strong_explicit(p, e, v, order, fails) STEP_CAS(p, e, v, order)
#define atomic_compare_exchange_weak_explicit(p, e, v, order, fails) STEP_CAS(p, e, v, order)
#define atomic_fetch_add_explicit(p, v, order) STEP_CHANGE("add", p, v, order, STEP_FETCH(add, step_p, step_n))
#define atomic_fetch_sub_explicit(p, v, order) STEP_CHANGE("subtract", p, v, order, STEP_FETCH(sub, step_p, step_n))
#define atomic_fetch_or_explicit(p, v, order) STEP_CHANGE("or", p, v, order, STEP_FETCH(or, step_p, step_n))
#define atomic_fetch_and_explicit(p, v, order) STEP_CHANGE("and", p, v, order, STEP_FETCH(and, step_p, step_n))
#define atomic_load(p) STEP_READ(p, memory_order_seq_cst)
#define atomic_store(p, v) STEP_WRITE(p, v, memory_order_seq_cst)
#define atomic_exchange(p, v) STEP_CHANGE("exchange", p, v, memory_order_seq_cst, STEP_EXCHANGE(step_p, step_n))
#define atomic_compare_exchange_strong(p, e, v) STEP_CAS(p, e, v, memory_order_seq_cst)
#define atomic_compare_exchange_weak(p, e, v) STEP_CAS(p, e, v, memory_order_seq_cst)
#define atomic_fetch_add(p, v) STEP_CHANGE("add", p, v, memory_order_seq_cst, STEP_FETCH(add, step_p, step_n))
#define atomic_fetch_sub(p, v) STEP_CHANGE("subtract", p, v, memory_order_seq_cst, STEP_FETCH(sub, step_p, step_n))
#define atomic_fetch_or(p, v) STEP_CHANGE("or", p, v, memory_order_seq_cst, STEP_FETCH(or, step_p, step_n))
#define atomic_fetch_and(p, v) STEP_CHANGE("and", p, v, memory_order_seq_cst, STEP_FETCH(and, step_p, step_n))
#define atomic_init(p, v) STEP_STORE(p, v)

/* A thread's own: the explorer puts them in place. noise.c has real threads. */
#ifndef STEP_REAL_THREADS
#undef _Thread_local
#define _Thread_local __attribute__((section("step_local")))
#define __thread _Thread_local
#endif

#include "base/os.h"

#define adsm_os_wait(word, value, timeout_ns, shared) \
	step_wait(word, value, timeout_ns, shared, __FILE__, __LINE__, "sleep on " #word " while " #value)
#define adsm_os_wake(word, n, shared) step_wake(word, n, shared, __FILE__, __LINE__, "wake " #n " on " #word)

#ifndef STEP_REAL_THREADS
/* The lock of os.h has a model of its own (lock.c); elsewhere it is one step, as mutexes are. */
#ifndef STEP_REAL_LOCKS
#define adsm_lock(lock) step_lock(&(lock)->word, __FILE__, __LINE__, "lock " #lock)
#define adsm_trylock(lock) step_trylock(&(lock)->word, __FILE__, __LINE__, "try to lock " #lock)
#define adsm_unlock(lock) step_unlock(&(lock)->word)
#endif
#define adsm_mutex_lock(mutex) step_lock(mutex, __FILE__, __LINE__, "lock " #mutex)
#define adsm_mutex_unlock(mutex) step_unlock(mutex)
#define pthread_mutex_init(mutex, attributes) ((void)(attributes), step_unlock(mutex))
#define pthread_mutex_lock(mutex) step_lock(mutex, __FILE__, __LINE__, "lock " #mutex)
#define pthread_mutex_unlock(mutex) step_unlock(mutex)

#define malloc step_alloc
#define calloc step_calloc
#define aligned_alloc step_aligned_alloc
#define free step_free
#endif

#endif
#endif
