/* SPDX-License-Identifier: MIT */
/*
 * fd.c - protects the library's own descriptors. A program that closes all descriptors that it does not know leaves
 * them open. If the program asks for the number of one by dup2(), the library's descriptor moves to another number.
 * All functions may be called in signal handlers.
 */
#include <linux/close_range.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "real.h"

ADSM_REALS(close, closefrom, close_range, dup2, dup3)

ADSM_WRAPPER int close(int fd)
{
	/* -1 gives EBADF, as for any closed descriptor. The call is made because close() is a cancellation point. */
	return real(close)(adsm_fd_is_own(fd) ? -1 : fd);
}
ADSM_ALSO(__close, close);

ADSM_WRAPPER int close_range(unsigned first, unsigned last, int flags)
{
	unsigned own;

	/* The library's descriptors are close-on-exec already. */
	if ((flags & (int)CLOSE_RANGE_CLOEXEC) || first > last)
		return real(close_range)(first, last, flags);
	for (; first <= last; first = own + 1) {
		own = first > INT_MAX ? INT_MAX : (unsigned)adsm_fd_next((int)first);
		if (own == INT_MAX || own > last)
			return real(close_range)(first, last, flags);
		if (own > first && real(close_range)(first, own - 1, flags))
			return -1;
	}
	/* The last number is the library's: an empty range, because the flags may ask for more than closing. */
	return real(close_range)(UINT_MAX, UINT_MAX, flags);
}

ADSM_WRAPPER void closefrom(int first)
{
	int own = adsm_fd_next(first);

	/* Linux before 5.9 has no close_range(): then close one by one, as closefrom() does there. */
	for (int fd = first < 0 ? 0 : first; own != INT_MAX; fd = own + 1, own = adsm_fd_next(fd)) {
		if (own > fd && real(close_range)((unsigned)fd, (unsigned)own - 1, 0))
			for (int i = fd; i < own; i++)
				real(close)(i);
		first = own + 1;
	}
	real(closefrom)(first);
}

/* Free the number @new_fd if the library uses it. Returns 1 if its descriptor has moved, 0, or a negative errno. */
static int make_way(int old_fd, int new_fd)
{
	int error;

	if (old_fd == new_fd || !adsm_fd_is_own(new_fd))
		return 0;
	error = adsm_fd_move(new_fd);
	return error ? error : 1;
}

#define DUP(name, params, args)						\
	ADSM_WRAPPER int name params					\
	{								\
		int moved = make_way(old_fd, new_fd), ret;		\
									\
		if (moved < 0)						\
			return adsm_refuse(-moved);			\
		ret = real(name) args;					\
		/* Else the old number would stay open for ever. */	\
		if (ret < 0 && moved)					\
			adsm_fd_left(new_fd);				\
		return ret;						\
	}
DUP(dup2, (int old_fd, int new_fd), (old_fd, new_fd))
DUP(dup3, (int old_fd, int new_fd, int flags), (old_fd, new_fd, flags))
ADSM_ALSO(__dup2, dup2);
