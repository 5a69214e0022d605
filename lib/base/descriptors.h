/* SPDX-License-Identifier: MIT */
/*
 * descriptors.h - the few descriptors that the library keeps: out of the way of the program's, and known again at each
 * use. Programs close what they do not know, and have the numbers for files of their own.
 */
#ifndef ADSM_DESCRIPTORS_H
#define ADSM_DESCRIPTORS_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* One that is kept. */
struct adsm_fd;

/*
 * Keep @fd, which is the callee's from here on, also on failure. It moves: to a number from 500 up, or as high as the
 * limit on them lets it. A child that the C library forks has it closed. 0 or a negative errno.
 */
int adsm_fd_keep(int fd, struct adsm_fd **ret_own);
/* Its number at this moment; -EBADF where it was closed, or replaced, behind the library's back. NULL: -EBADF. */
int adsm_fd_number(const struct adsm_fd *own);					/* [signal] */
/* Close it, unless it is somebody else's by now. NULL: nothing. */
void adsm_fd_drop(struct adsm_fd *own);

/*
 * For one that is had only for a while: the same file with a number as high, @fd is closed. 0 to 2, closed by the
 * program, would be what others print to. A negative errno where there is only such a one, or @fd is one.
 */
int adsm_fd_lift(int fd);
/* adsm_os_memfd(), lifted. */
int adsm_fd_memory(const char *name, size_t size, int *ret_fd);

/* ---- for the wrappers: the library's in this process, not those of a child that has its memory */

extern _Atomic int adsm_fd_lowest;	/* none is below */

/* The lowest from @first on; INT_MAX: there is none. */
int adsm_fd_next(int first);							/* [signal] */
/* The program wants its number: it has another one then. 0 or a negative errno. */
int adsm_fd_move(int fd);							/* [signal] */
/* One has moved from @fd, where the program then could not put its own: close @fd if it is still the library's. */
void adsm_fd_left(int fd);							/* [signal] */

static inline bool adsm_fd_is_own(int fd)					/* [signal] */
{
	return fd >= atomic_load_explicit(&adsm_fd_lowest, memory_order_relaxed) && adsm_fd_next(fd) == fd;
}

#endif
