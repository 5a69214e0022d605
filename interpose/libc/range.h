/* SPDX-License-Identifier: MIT */
/* range.h - memory arguments of system calls: whether they are shared, and how the system reaches them. */
#pragma once

#include <limits.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "real.h"
#include "core/shared.h"
#include "run/copy/io.h"

#define ADSM_CLEANUP(how) __attribute__((cleanup(how)))
#define ADSM_SLOW static __attribute__((noinline))

/* ---- what is shared */

static inline bool adsm_range_idle(void)
{
	return atomic_load_explicit(&adsm_shared_range.size, memory_order_relaxed) == 0;
}

/* May the range be shared? False for size 0, and for a size that the system refuses. */
static inline bool adsm_range_shared(const void *p, size_t size)
{
	return adsm_may_be_shared(p, size) && size - 1 < SSIZE_MAX;
}

/* The same for an optional argument: if @p is NULL, the size has no meaning. */
static inline bool adsm_range_given(const void *p, size_t size)
{
	return p && adsm_range_shared(p, size);
}

/*
 * Can an argument be read, or would the system return EFAULT? True near the caller's frame on the stack. For any other
 * address a system call for each page finds out: it reads 8 bytes there, and then fails without any effect.
 */
bool adsm_range_readable(const void *p, size_t size);
/* Is a vector, or memory that it names, shared? False for a vector that the system refuses. */
bool adsm_vector_shared(const struct iovec *vector, size_t n);

/* ---- arguments: the result is 0, -EFAULT if the system is to get the caller's argument, or another negative errno if
 * the bytes are not available */

/* Copy an argument to @own, or back to @p. */
int adsm_range_take(void *own, const void *p, size_t size);
int adsm_range_give(void *p, const void *own, size_t size);
/* Make a vector itself readable: if it is in shared memory, *vector becomes its address in the alias. */
int adsm_vector_reach(const struct iovec **vector, size_t n);

/* Returns -1 for an argument that could not be read or written back; @error is from the functions above. */
static inline int adsm_range_refuse(int error)
{
	return adsm_refuse(error == -EFAULT ? EFAULT : EIO);
}

/* ---- transfers */

/* How the system uses memory. ADSM_OUTPUT: it reads. ADSM_INPUT: it writes. ADSM_UPDATE: it writes, but may write less
 * than its result says. ADSM_LENT: it reads, also after the call. */
#define ADSM_OUTPUT adsm_io_begin_output
#define ADSM_INPUT adsm_io_begin_input
#define ADSM_UPDATE adsm_range_begin_update
#define ADSM_LENT adsm_range_begin_lent

typedef int adsm_range_begin_function(struct adsm_io *io, const struct iovec *vector, int n, struct iovec *room);

int adsm_range_begin_lent(struct adsm_io *io, const struct iovec *vector, int n, struct iovec *room);
int adsm_range_begin_update(struct adsm_io *io, const struct iovec *vector, int n, struct iovec *room);
/* For one range. If it stays in one piece, *p becomes the address for the system. If *p is not shared: 0, unchanged. */
int adsm_range_begin(struct adsm_io *io, void **p, size_t size, struct iovec *room,
		     adsm_range_begin_function *begin);
/* Room for vectors, given back by ADSM_CLEANUP(adsm_room_end). Short ones lie on the stack, which may be small. A jump
 * out of the call leaves the memory of a long one behind. */
struct adsm_room {
	struct iovec few[ADSM_IO_ROOM(16)];
	struct iovec *mapped;		/* NULL: none */
	size_t size;
};

/* Entries that @n entries may be split into; NULL: no memory. Once for each adsm_room. */
struct iovec *adsm_room_begin(struct adsm_room *room, size_t n);
void adsm_room_end(struct adsm_room *room);
int adsm_vector_begin(struct adsm_io *io, const struct iovec *vector, size_t n, struct iovec *room,
		      adsm_range_begin_function *begin);

/* Splitting may make a vector longer than IOV_MAX. Then less is transferred. */
static inline int adsm_vector_pieces(const struct adsm_io *io)
{
	return io->n < IOV_MAX ? io->n : IOV_MAX;
}

/* @n: the result of the call. It may be more than the bytes delivered, if a datagram was truncated. */
static inline ssize_t adsm_range_end(struct adsm_io *io, ssize_t n)
{
	size_t delivered = n < 0 ? 0 : (size_t)n < io->size ? (size_t)n : io->size;

	return adsm_io_end(io, delivered) ? adsm_refuse(EIO) : n;
}

/* ---- wrappers of one buffer: a call for one piece, and a call for several pieces */

#define ADSM_PIECES io.vector, adsm_vector_pieces(&io)

#define ADSM_PIECE io.vector->iov_base, io.vector->iov_len

#define ADSM_BUFFER(begin, name, parameters, arguments, one, several) \
	ADSM_REAL(name); \
	ADSM_WRAPPER ssize_t name parameters; \
	ADSM_SLOW ssize_t name##_shared parameters \
	{ \
		const struct iovec whole = { (void *)p, size }; \
		struct adsm_io io ADSM_CLEANUP(adsm_io_cleanup) = { .where = __builtin_return_address(0) }; \
		struct iovec room[ADSM_IO_ROOM(1)]; \
 \
		adsm_io_look_back(ADSM_STACK()); \
		if ((begin)(&io, &whole, 1, room)) \
			return adsm_refuse(EIO); \
		return adsm_range_end(&io, io.n == 1 ? one : several); \
	} \
	ADSM_WRAPPER ssize_t name parameters \
	{ \
		return adsm_range_shared(p, size) ? name##_shared arguments : real(name) arguments; \
	}
