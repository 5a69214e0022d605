/* SPDX-License-Identifier: MIT */
/*
 * stdio.c - streams.
 *
 * libc copies between a stream's buffer and the caller's memory like any code of the program, and faults there are
 * served. But for memory at least as large as the buffer, libc makes the system read or write it in place, by internal
 * calls that no wrapper sees. So these functions pass the alias to libc.
 *
 * Functions that only copy from or to the buffer need no wrapper: fgets(), getline(), scanf(), getc(), wide characters,
 * fmemopen(). Neither does printf(), which reads a string to its end before it writes it.
 */
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "real.h"
#include "core/shared.h"
#include "run/copy/io.h"

#undef fread_unlocked	/* these two are macros if the compiler optimizes */
#undef fwrite_unlocked

/* Headers declare these only with _FORTIFY_SOURCE. */
size_t __fread_chk(void *p, size_t room, size_t size, size_t n, FILE *stream);
size_t __fread_unlocked_chk(void *p, size_t room, size_t size, size_t n, FILE *stream);

ADSM_REALS(fread, fread_unlocked, __fread_chk, __fread_unlocked_chk, fwrite, fwrite_unlocked, fputs,
	   fputs_unlocked, puts, setvbuf, setbuf, setbuffer)

/* ---- what all functions share */

typedef size_t mover(void *p, size_t size, size_t n, FILE *stream);
typedef int putter(const char *s, FILE *stream);

/* May the range be shared? If the size overflows, libc's function gets the call. */
static inline bool shared(const void *p, size_t size, size_t n)
{
	size_t total;

	return !__builtin_mul_overflow(size, n, &total) && total && adsm_may_be_shared(p, total);
}

/* Does libc copy this size through the stream's buffer? Only if it is smaller than the buffer; for writes, the buffer
 * must not be tiny either. The caller has locked the stream. */
static bool is_copied(FILE *stream, size_t size)
{
	size_t buffer = __fbufsize(stream);

	return size < buffer && buffer >= 128 && fwide(stream, 0) <= 0;
}

static void unlock(FILE **stream)
{
	if (*stream)
		funlockfile(*stream);
}

static FILE *lock(FILE *stream, bool wanted)
{
	if (wanted)
		flockfile(stream);
	return wanted ? stream : NULL;
}

/* Fail as libc does: the error flag ends a loop that waits for a flag of the stream. */
static void set_failed(FILE *stream)
{
	stream->_flags |= _IO_ERR_SEEN;
	errno = EIO;
}

/* @locks: the function locks the stream itself. */
static __attribute__((noinline)) size_t move_shared(mover *libc, bool input, bool locks, void *p, size_t size, size_t n,
						    FILE *stream)
{
	FILE *locked __attribute__((cleanup(unlock), unused)) = lock(stream, locks);
	struct adsm_io io __attribute__((cleanup(adsm_io_cleanup))) = { 0 };
	const struct iovec whole = { p, size * n };
	struct iovec room[ADSM_IO_ROOM(1)];
	size_t done = 0, part;

	adsm_io_look_back(ADSM_STACK());
	if (is_copied(stream, whole.iov_len))
		return libc(p, 1, whole.iov_len, stream) / size;
	if ((input ? adsm_io_begin_input : adsm_io_begin_output)(&io, &whole, 1, room)) {
		set_failed(stream);
		return 0;
	}
	for (int i = 0; i < io.n; i++) {
		part = libc(io.vector[i].iov_base, 1, io.vector[i].iov_len, stream);
		done += part;
		if (part < io.vector[i].iov_len)
			break;
	}
	if (adsm_io_end(&io, done)) {
		set_failed(stream);
		return 0;
	}
	return done / size;
}

/* ---- fread and fwrite */

#define MOVE(name, input, locks, type)									\
	ADSM_WRAPPER size_t name(type *p, size_t size, size_t n, FILE *stream)				\
	{												\
		return !shared(p, size, n) ? real(name)(p, size, n, stream) :				\
			move_shared((mover *)real(name), input, locks, (void *)p, size, n, stream);	\
	}
/* libc's own function reports a size larger than the room. */
#define MOVE_CHECKED(name, unchecked, locks)								\
	ADSM_WRAPPER size_t name(void *p, size_t room, size_t size, size_t n, FILE *stream)		\
	{												\
		return !shared(p, size, n) || size * n > room ? real(name)(p, room, size, n, stream) :	\
			move_shared(real(unchecked), true, locks, p, size, n, stream);			\
	}
MOVE(fread, true, true, void)
MOVE(fread_unlocked, true, false, void)
MOVE_CHECKED(__fread_chk, fread, true)
MOVE_CHECKED(__fread_unlocked_chk, fread_unlocked, false)
MOVE(fwrite, false, true, const void)
MOVE(fwrite_unlocked, false, false, const void)

/* ---- strings: libc's own function gets the alias, so that the result is the same */

static int put_line(const char *s, FILE *stream)
{
	return real(puts)(s);
}

static __attribute__((noinline)) int put_shared(putter *libc, bool locks, const char *s, FILE *stream)
{
	FILE *locked __attribute__((cleanup(unlock), unused)) = lock(stream, locks);
	struct iovec room[ADSM_IO_ROOM(1)], whole;
	struct adsm_io io = { 0 };

	adsm_io_look_back(ADSM_STACK());
	whole = (struct iovec){ (void *)s, strlen(s) + 1 };
	if (is_copied(stream, whole.iov_len))
		return libc(s, stream);
	if (adsm_io_begin_output(&io, &whole, 1, room)) {
		set_failed(stream);
		return EOF;
	}
	/* Several pieces: the string ends outside the object. Then the view is used; strlen() has just opened it. */
	return libc(io.n == 1 ? io.vector->iov_base : s, stream);
}

ADSM_WRAPPER int fputs(const char *s, FILE *stream)
{
	return adsm_may_be_shared(s, 1) ? put_shared(real(fputs), true, s, stream) : real(fputs)(s, stream);
}

ADSM_WRAPPER int fputs_unlocked(const char *s, FILE *stream)
{
	return adsm_may_be_shared(s, 1) ? put_shared(real(fputs_unlocked), false, s, stream) :
		real(fputs_unlocked)(s, stream);
}

ADSM_WRAPPER int puts(const char *s)
{
	return adsm_may_be_shared(s, 1) ? put_shared(put_line, true, s, stdout) : real(puts)(s);
}

/*
 * ---- buffers. libc passes a stream's buffer to the system at any time. So a buffer in shared memory is replaced by an
 * ordinary one of the same size. That one is never freed: the library does not know when the stream is closed.
 */

static char *ordinary(char *buffer, size_t size)
{
	return size && adsm_may_be_shared(buffer, size) ? malloc(size) : buffer;
}

ADSM_WRAPPER int setvbuf(FILE *stream, char *buffer, int mode, size_t size)
{
	char *own = mode == _IONBF ? NULL : ordinary(buffer, size);
	int result = real(setvbuf)(stream, own, mode, size);

	if (result && own != buffer)
		free(own);
	return result;
}

ADSM_WRAPPER void setbuffer(FILE *stream, char *buffer, size_t size)
{
	real(setbuffer)(stream, ordinary(buffer, size), size);
}

ADSM_WRAPPER void setbuf(FILE *stream, char *buffer)
{
	real(setbuf)(stream, ordinary(buffer, BUFSIZ));
}
