/* SPDX-License-Identifier: MIT */
/*
 * real.h - a wrapper, and the function behind it.
 *
 * A wrapper has libc's name and takes its place for the whole process, linked or preloaded. So it must
 * be right before the library has started, in every thread, inside signal handlers and in the child of
 * vfork(); and where no shared memory is concerned it does as libc, at libc's speed. Results and
 * errno are libc's in every case.
 */
#ifndef ADSM_REAL_H
#define ADSM_REAL_H

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

/* Before a wrapper. Exported without a version: in a version node it would not shadow libc's name. */
#define ADSM_WRAPPER __attribute__((visibility("default")))

/*
 * The function behind a wrapper: what the process would call, were this library not there. ADSM_REAL(read) at
 * the top of a file, then real(read)(fd, p, size). All are looked up when the library is loaded, and one that
 * is called still earlier at its first call.
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

/* The section's entries are an array; some compilers would align each as if it were one by itself. */
#define ADSM_REAL(function_)								\
	static struct adsm_real real_##function_					\
		__attribute__((section("adsm_real"), used, aligned(sizeof(void *)))) =	\
		{ .name = #function_ }

#define real(function_) ((__typeof__(&(function_)))adsm_real_get(&real_##function_))

/* Set errno and return: return adsm_refuse(EIO). */
static inline int adsm_refuse(int error)
{
	errno = error;
	return -1;
}

#endif
