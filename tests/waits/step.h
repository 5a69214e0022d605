/* SPDX-License-Identifier: MIT */
/*
 * step.h - explores how the library's own code waits: every interleaving of a few threads.
 *
 * A model is a .c file. It includes this header first, then the library's .c file, and ends with scenarios: the actions
 * of a few threads. Each atomic access, each futex call and each lock is a step. The explorer (step.c) tries every
 * order of the threads' steps. It remembers the states that it has seen, and reports with the interleaving:
 *
 *	- a state where no thread can continue, and a thread has not ended: a lost wake-up, or a deadlock;
 *	- a state where threads can continue, but the end of all threads cannot be reached any more;
 *	- a STEP_CHECK() that fails.
 *
 * The model assumes sequentially consistent memory. So it does not show that weaker orders are sufficient. Code between
 * two steps belongs to the first of them. So data without atomics must be protected by a lock; ThreadSanitizer checks
 * that.
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
	STEP_ANY_TIME,			/* a wait with a time limit may time out at any moment */
	STEP_NO_TIME,			/* no wait times out, so each must be woken */
};

struct step_scenario {
	const char *name;
	void (*start)(void);		/* prepares memory and declares the threads; not explored */
	bool (*settled)(void);		/* called when all threads are at rest: is everything done? NULL: it is */
	enum step_time time;
	unsigned signals;		/* how often, in each thread, a sleep may end with EINTR */
	/*
	 * The limit of preemptions: how often, in total, another thread runs although the current one could continue;
	 * 0: no limit. full_preemptions is for TEST_FULL=1. With a limit, endless loops of threads are not detected.
	 */
	unsigned preemptions, full_preemptions;
};

enum { STEP_SERVER = 1,			/* the thread may sleep for ever when all others have ended */
       STEP_MORTAL = 2 };		/* a SIGKILL may end the thread before any of its steps */

/* Declare a thread. Called by start() only. */
void step_thread(const char *name, void (*run)(void *arg), void *arg, unsigned flags);
/* Called by a thread: wait until the condition is true. The condition must not change anything. */
void step_await(bool (*condition)(void *arg), void *arg);
/* Called by a thread: the explorer tries each result from 0 to n - 1. */
unsigned step_choose(unsigned n);
/* Called by a thread: end it. */
_Noreturn void step_end(void);
/* step_killed(): was the thread of this name killed? step_over(): has it ended, in any way? */
bool step_killed(const char *name);
bool step_over(const char *name);
/* Declare memory outside the program's variables that a scenario changes. Called by start() only. */
void step_memory(void *p, size_t size);
/* Declare variables that no thread of this scenario changes. This makes the exploration faster, and is checked. Called
 * by start() only. */
void step_constant(void *p, size_t size);
/* Declare variables that decide nothing. An access to them is not a step of its own. Called by start() only. */
void step_plain(void *p, size_t size);

#define STEP_CHECK(condition) step_check(condition, #condition, __FILE__, __LINE__)
void step_check(bool holds, const char *text, const char *file, int line);

/*
 * Defines a function of the library that the code refers to, but that no scenario calls. Put STEP_HAS_NEVER before the
 * first of these in a model.
 */
#define STEP_HAS_NEVER static __attribute__((used)) void step_never(void) { abort(); }
#define STEP_NEVER(name) __asm__(".globl " #name "\n.set " #name ", step_never");

/* Explore the scenarios named in argv, or all. A scenario without a name ends the array. Returns the exit status. */
int step_main(int argc, char **argv, const struct step_scenario *scenarios);

/* ---- replacements of atomics, locks, malloc() and thread-local variables */

void step_at(const volatile void *word, const char *file, int line, const char *text);
void step_saw(uint64_t value);
void step_lock(void *lock, const char *file, int line, const char *text);
bool step_trylock(void *lock, const char *file, int line, const char *text);
void step_unlock(void *lock);
int step_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns, bool shared, const char *file, int line,
	      const char *text);
void step_wake(_Atomic uint32_t *word, int n, bool shared, const char *file, int line, const char *text);
void *step_alloc(size_t size);		/* zeroed; part of the variables that are restored with a state */
void *step_calloc(size_t n, size_t size);
void *step_aligned_alloc(size_t alignment, size_t size);
void step_free(void *p);		/* does nothing: the memory stays until the end */

#ifndef STEP_ENGINE

/* Without assertions, as the checks of lock ranks are not part of waiting. */
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
 * The operands are evaluated first, because they may be steps themselves. A relaxed access, mostly of a counter, is no
 * step of its own: with this order, the code says that nothing depends on the access.
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

/* Thread-local variables are in a section, and the explorer swaps its contents. noise.c has real threads. */
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
/* The lock of os.h has a model of its own (os.c). In all other models it is one step, as a mutex is. */
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
