/* SPDX-License-Identifier: MIT */
/*
 * real.h - a wrapper, and the function behind it.
 *
 * A wrapper has the name of a function of libc and replaces it for the whole process, linked or preloaded. So it must
 * work before the library has started, in every thread, in signal handlers and in the child of vfork(). If a call does
 * not concern shared memory, the wrapper behaves like libc's function, at the same speed. Results and errno are as in
 * libc in all cases.
 */
#ifndef ADSM_REAL_H
#define ADSM_REAL_H

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

/* The entries of the section form an array. Without aligned(), some compilers put gaps between them. */
#define ADSM_REAL(function_)								\
	static struct adsm_real real_##function_					\
		__attribute__((section("adsm_real"), used, aligned(sizeof(void *)))) =	\
		{ .name = #function_ }

#define real(function_) ((__typeof__(&(function_)))adsm_real_get(&real_##function_))

/* Sets errno and returns -1, as in: return adsm_refuse(EIO); */
static inline int adsm_refuse(int error)
{
	errno = error;
	return -1;
}

#endif
