/* SPDX-License-Identifier: MIT */
/* libc_io.c - bulk input and output by system calls. */
#include <sys/types.h>
#include <unistd.h>

#include "interpose.h"

ADSM_REAL(read);
ADSM_REAL(readv);

ADSM_WRAPPER ssize_t read(int fd, void *p, size_t size)
{
	const struct iovec whole = { p, size };
	struct adsm_io io __attribute__((cleanup(adsm_io_cleanup))) = { 0 };
	struct iovec room[ADSM_IO_ROOM(1)];
	ssize_t n;

	if (!adsm_may_be_shared(p, size))
		return real(read)(fd, p, size);
	if (adsm_io_begin_input(&io, &whole, 1, room))
		return adsm_refuse(EIO);
	n = io.n == 1 ? real(read)(fd, io.vector->iov_base, io.vector->iov_len) : real(readv)(fd, io.vector, io.n);
	if (adsm_io_end(&io, n > 0 ? (size_t)n : 0))
		return adsm_refuse(EIO);
	return n;
}
