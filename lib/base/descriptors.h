/* SPDX-License-Identifier: MIT */
/*
 * descriptors.h - the few descriptors that the library keeps. They have high numbers, out of the program's way, and are
 * verified at each use: programs close descriptors that they do not know, and then use the numbers for their own files.
 */
#pragma once

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* A descriptor that is kept. */
struct adsm_fd;

/* Keep @fd, which belongs to this function from now on, also if it fails. It moves to a number from 500 up, or as high
 * as the limit on descriptors permits. In a child that the C library forks it is closed. 0 or a negative errno. */
int adsm_fd_keep(int fd, struct adsm_fd **ret_own);
/* Its current number; -EBADF if other code has closed or replaced it. NULL: -EBADF. */
int adsm_fd_number(const struct adsm_fd *own);					/* [signal] */
/* Close it, unless its number belongs to another file by now. NULL: does nothing. */
void adsm_fd_drop(struct adsm_fd *own);

/*
 * For a descriptor that is used for a short time: returns the same file with a high number, and closes @fd. A program
 * that has closed 0, 1 or 2 might otherwise print to it. Returns a negative errno if only such a number is free; if @fd
 * is a negative errno, returns that.
 */
int adsm_fd_lift(int fd);
/* adsm_os_memfd() with a high number. */
int adsm_fd_memory(const char *name, size_t size, int *ret_fd);

/* ---- for the wrappers. They count as the library's only in the process that made them, not in a child that shares its
 * memory */

extern _Atomic int adsm_fd_lowest;	/* no kept descriptor is below */

/* The lowest kept descriptor from @first on; INT_MAX: there is none. */
int adsm_fd_next(int first);							/* [signal] */
/* The program needs the number @fd: move the descriptor to another number. 0 or a negative errno. */
int adsm_fd_move(int fd);							/* [signal] */
/* A descriptor has moved away from @fd, but the program could not use the number: close @fd if it is still the
 * library's file. */
void adsm_fd_left(int fd);							/* [signal] */

static inline bool adsm_fd_is_own(int fd)					/* [signal] */
{
	return fd >= atomic_load_explicit(&adsm_fd_lowest, memory_order_relaxed) && adsm_fd_next(fd) == fd;
}
