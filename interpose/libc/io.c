/* SPDX-License-Identifier: MIT */
/* io.c - bulk input and output by system calls. */
#undef _FILE_OFFSET_BITS	/* pread() and pread64() are two names here */
#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include "range.h"

/* ---- vectors: one row makes one wrapper */

#define VECTOR(begin, name, parameters, arguments, call) \
	ADSM_REAL(name); \
	ADSM_SLOW ssize_t name##_shared parameters \
	{ \
		struct adsm_room room_ ADSM_CLEANUP(adsm_room_end); \
		struct iovec *room = adsm_room_begin(&room_, (size_t)n); \
		struct adsm_io io ADSM_CLEANUP(adsm_io_cleanup) = { .where = __builtin_return_address(0) }; \
		int error; \
 \
		adsm_io_look_back(ADSM_STACK()); \
		if (!room) \
			return adsm_refuse(ENOMEM); \
		error = adsm_vector_begin(&io, vector, (size_t)n, room, begin); \
		if (error == -EFAULT) \
			return real(name) arguments; \
		return error ? adsm_refuse(EIO) : adsm_range_end(&io, call); \
	} \
	ADSM_WRAPPER ssize_t name parameters \
	{ \
		return adsm_vector_shared(vector, (size_t)n) ? name##_shared arguments : \
			real(name) arguments; \
	}

VECTOR(ADSM_INPUT, readv, (int fd, const struct iovec *vector, int n), (fd, vector, n),
       real(readv)(fd, ADSM_PIECES))
VECTOR(ADSM_OUTPUT, writev, (int fd, const struct iovec *vector, int n), (fd, vector, n),
       real(writev)(fd, ADSM_PIECES))

#define AT(begin, name) \
	VECTOR(begin, name, (int fd, const struct iovec *vector, int n, off64_t at), \
	       (fd, vector, n, at), real(name)(fd, ADSM_PIECES, at))
AT(ADSM_INPUT, preadv)
AT(ADSM_INPUT, preadv64)
AT(ADSM_OUTPUT, pwritev)
AT(ADSM_OUTPUT, pwritev64)

#define AT_WITH_FLAGS(begin, name) \
	VECTOR(begin, name, (int fd, const struct iovec *vector, int n, off64_t at, int flags), \
	       (fd, vector, n, at, flags), real(name)(fd, ADSM_PIECES, at, flags))
AT_WITH_FLAGS(ADSM_INPUT, preadv2)
AT_WITH_FLAGS(ADSM_INPUT, preadv64v2)
AT_WITH_FLAGS(ADSM_OUTPUT, pwritev2)
AT_WITH_FLAGS(ADSM_OUTPUT, pwritev64v2)

/* To a pipe, which then refers to the pages themselves, or from a pipe. */
VECTOR((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY ? ADSM_INPUT : ADSM_LENT,
       vmsplice, (int fd, const struct iovec *vector, size_t n, unsigned flags),
       (fd, vector, n, flags), real(vmsplice)(fd, io.vector, (size_t)adsm_vector_pieces(&io), flags))

/* ---- single buffers: a row has the call for one piece, and the call for several pieces */

#define READ(name) \
	ADSM_BUFFER(ADSM_INPUT, name, (int fd, void *p, size_t size), (fd, p, size), \
		    real(name)(fd, ADSM_PIECE), real(readv)(fd, ADSM_PIECES))
READ(read)
READ(__read)

#define WRITE(name) \
	ADSM_BUFFER(ADSM_OUTPUT, name, (int fd, const void *p, size_t size), (fd, p, size), \
		    real(name)(fd, ADSM_PIECE), real(writev)(fd, ADSM_PIECES))
WRITE(write)
WRITE(__write)

#define PREAD(name) \
	ADSM_BUFFER(ADSM_INPUT, name, (int fd, void *p, size_t size, off64_t at), (fd, p, size, at), \
		    real(name)(fd, ADSM_PIECE, at), real(preadv64)(fd, ADSM_PIECES, at))
PREAD(pread)
PREAD(pread64)
PREAD(__pread64)

#define PWRITE(name) \
	ADSM_BUFFER(ADSM_OUTPUT, name, (int fd, const void *p, size_t size, off64_t at), \
		    (fd, p, size, at), real(name)(fd, ADSM_PIECE, at), real(pwritev64)(fd, ADSM_PIECES, at))
PWRITE(pwrite)
PWRITE(pwrite64)
PWRITE(__pwrite64)

/* Functions that know the size of the buffer: libc's own ends the process by abort() if the buffer is too small. */
ADSM_BUFFER(ADSM_INPUT, __read_chk, (int fd, void *p, size_t size, size_t most), (fd, p, size, most),
	    real(__read_chk)(fd, ADSM_PIECE, most),
	    size > most ? real(__read_chk)(fd, p, size, most) : real(readv)(fd, ADSM_PIECES))

#define PREAD_CHK(name) \
	ADSM_BUFFER(ADSM_INPUT, name, (int fd, void *p, size_t size, off64_t at, size_t most), \
		    (fd, p, size, at, most), real(name)(fd, ADSM_PIECE, at, most), \
		    size > most ? real(name)(fd, p, size, at, most) : real(preadv64)(fd, ADSM_PIECES, at))
PREAD_CHK(__pread_chk)
PREAD_CHK(__pread64_chk)

/* An update: the system does not write the padding between entries. If a buffer ends outside its object, only the first
 * piece is used, and fewer entries are returned. */
ADSM_BUFFER(ADSM_UPDATE, getdents64, (int fd, void *p, size_t size), (fd, p, size),
	    real(getdents64)(fd, ADSM_PIECE), real(getdents64)(fd, ADSM_PIECE))

ADSM_BUFFER(ADSM_INPUT, getrandom, (void *p, size_t size, unsigned flags), (p, size, flags),
	    real(getrandom)(ADSM_PIECE, flags), real(getrandom)(ADSM_PIECE, flags))

ADSM_REAL(getentropy);

ADSM_WRAPPER int getentropy(void *p, size_t size)
{
	unsigned char bytes[256];
	int error;

	if (!adsm_range_shared(p, size) || size > sizeof(bytes))
		return real(getentropy)(p, size);
	adsm_io_look_back(ADSM_STACK());
	if (real(getentropy)(bytes, size))
		return -1;
	error = adsm_range_give(p, bytes, size);
	return error ? adsm_range_refuse(error) : 0;
}

/* Returns no error: if libc cannot get random bytes, it ends the process by abort(). */
void arc4random_buf(void *p, size_t size);
ADSM_REAL(arc4random_buf);

ADSM_WRAPPER void arc4random_buf(void *p, size_t size)
{
	const struct iovec whole = { p, size };
	struct adsm_io io ADSM_CLEANUP(adsm_io_cleanup) = { 0 };
	struct iovec room[ADSM_IO_ROOM(1)];

	if (adsm_range_shared(p, size))
		adsm_io_look_back(ADSM_STACK());
	if (!adsm_range_shared(p, size) || adsm_io_begin_input(&io, &whole, 1, room)) {
		real(arc4random_buf)(p, size);
		return;
	}
	for (int i = 0; i < io.n; i++)
		real(arc4random_buf)(io.vector[i].iov_base, io.vector[i].iov_len);
	adsm_io_end(&io, size);
}
