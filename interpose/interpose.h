/* SPDX-License-Identifier: MIT */
/*
 * interpose.h - what the wrappers of libc functions share.
 *
 * A wrapper has libc's name and takes its place for the whole process, linked or preloaded. So it must
 * be right before the library has started, in every thread, inside signal handlers and in the child of
 * vfork(); and where no shared memory is concerned it does what libc does, at libc's speed. Results and
 * errno are libc's in every case.
 */
#ifndef ADSM_INTERPOSE_H
#define ADSM_INTERPOSE_H

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/io.h"

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
/*
 * The libraries that dlsym(RTLD_NEXT) would search, one by one: from { 0 } on, until it is false. For constructors, not
 * for signal handlers.
 */
struct adsm_library {
	const struct link_map *own, *map;
	bool before;			/* this one, in the order of all */
	uintptr_t base;
	const ElfW(Sym) *table;
	const char *names;
	const uint16_t *versions;	/* NULL: it has none */
	const uint32_t *gnu_hash, *hash;	/* one of the two */
};
bool adsm_library_next(struct adsm_library *library);
/* A function of it, or NULL. @versioned: only one with a version: libc's have one, other people's wrappers none. */
void *adsm_library_find(const struct adsm_library *library, const char *name, bool versioned);

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
