/* SPDX-License-Identifier: MIT */
/*
 * real.h - a wrapper, and the function behind it.
 *
 * A wrapper has the name of a function of libc and replaces it for the whole process, linked or preloaded. So it must
 * work before the library has started, in every thread, in signal handlers and in the child of vfork(). If a call does
 * not concern shared memory, the wrapper behaves like libc's function, at the same speed. Results and errno are as in
 * libc in all cases.
 */
#pragma once

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

/* Stands before each wrapper. The symbol is exported without a version: with one, it would not replace libc's. */
#define ADSM_WRAPPER __attribute__((visibility("default")))

/*
 * The function behind a wrapper: the one that the process would call without this library. Write ADSM_REAL(read) at
 * the top of a file, then real(read)(fd, p, size). All are looked up when the library is loaded. A function that is
 * called earlier is looked up at its first call.
 */
struct adsm_real {
	const char *name;
	_Atomic(void *) function;
};

void *adsm_real_find(struct adsm_real *real);

static inline void *adsm_real_get(struct adsm_real *real)
{
	void *function = atomic_load_explicit(&real->function, memory_order_relaxed);

	return __builtin_expect(function != NULL, 1) ? function : adsm_real_find(real);
}

/* ADSM_EACH(macro, with, a, b) is macro(with, a) macro(with, b). A macro does not expand inside itself. So each step
 * leaves the next one unexpanded, and ADSM_SCAN scans the result again, often enough. */
#define ADSM_EACH(macro, with, ...) ADSM_SCAN(ADSM_EACH_STEP(macro, with, __VA_ARGS__))
#define ADSM_EACH_STEP(macro, with, first, ...)	\
	macro(with, first) __VA_OPT__(ADSM_EACH_NEXT ADSM_EACH_EMPTY (macro, with, __VA_ARGS__))
#define ADSM_EACH_NEXT() ADSM_EACH_STEP
#define ADSM_EACH_EMPTY ()
#define ADSM_SCAN(...) ADSM_SCAN1(ADSM_SCAN1(ADSM_SCAN1(ADSM_SCAN1(__VA_ARGS__))))
#define ADSM_SCAN1(...) ADSM_SCAN2(ADSM_SCAN2(ADSM_SCAN2(ADSM_SCAN2(__VA_ARGS__))))
#define ADSM_SCAN2(...) ADSM_SCAN3(ADSM_SCAN3(ADSM_SCAN3(ADSM_SCAN3(__VA_ARGS__))))
#define ADSM_SCAN3(...) __VA_ARGS__

/* The entries of the section form an array. Without aligned(), some compilers put gaps between them. */
#define ADSM_REAL(function_)								\
	static struct adsm_real real_##function_					\
		__attribute__((section("adsm_real"), used, aligned(sizeof(void *)))) =	\
		{ .name = #function_ }

/* Several of them. */
#define ADSM_REALS(...) ADSM_EACH(ADSM_REAL_EACH, , __VA_ARGS__)
#define ADSM_REAL_EACH(with, function_) ADSM_REAL(function_);

/* Another name of a wrapper in the same file. */
#define ADSM_ALSO(other, name)						\
	extern __typeof__(name) adsm_also_##other __asm__(#other)	\
		__attribute__((alias(#name), visibility("default"), nothrow, leaf))

#define real(function_) ((__typeof__(&(function_)))adsm_real_get(&real_##function_))

/* Sets errno and returns -1, as in: return adsm_refuse(EIO); */
static inline int adsm_refuse(int error)
{
	errno = error;
	return -1;
}
