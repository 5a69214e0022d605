/* SPDX-License-Identifier: MIT */
/* range.c - memory arguments of system calls: whether they are shared, and how the system reaches them. */
#include "range.h"
#include "base/os.h"
#include "run/copy/copy.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* No answer is kept: whether a page is readable changes by more than the program's own calls, as when another process
 * shortens a mapped file. */
bool adsm_range_readable(const void *p, size_t size)
{
	uintptr_t at = (uintptr_t)p, end = at + size, page = 4096;
	int saved_errno = errno;
	bool readable = end >= at;

	if (at - (uintptr_t)__builtin_frame_address(0) < page && size < page)
		return true;
	for (at &= -(uintptr_t)8; readable && at < end; at = (at | (page - 1)) + 1)
		readable = syscall(SYS_rt_sigprocmask, -1, at, NULL, 8) == -1 && errno == EINVAL;
	errno = saved_errno;
	return readable;
}

bool adsm_vector_shared(const struct iovec *vector, size_t n)
{
	bool any = false;

	if (adsm_range_idle() || n - 1 >= IOV_MAX)
		return false;
	if (adsm_may_be_shared(vector, n * sizeof(*vector)))
		return true;
	if (!adsm_range_readable(vector, n * sizeof(*vector)))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (vector[i].iov_len > SSIZE_MAX)
			return false;
		any |= adsm_range_shared(vector[i].iov_base, vector[i].iov_len);
	}
	return any;
}

int adsm_range_take(void *own, const void *p, size_t size)
{
	int error = 0;

	if (adsm_may_be_shared(p, size))
		error = adsm_io_copy(own, p, size);
	else if (adsm_range_readable(p, size))
		memcpy(own, p, size);
	else
		error = -EFAULT;
	return error == -EINVAL ? -EFAULT : error;
}

int adsm_range_give(void *p, const void *own, size_t size)
{
	int error = 0;

	if (adsm_may_be_shared(p, size))
		error = adsm_io_copy(p, own, size);
	else
		memcpy(p, own, size);
	return error == -EINVAL ? -EFAULT : error;
}

int adsm_vector_reach(const struct iovec **vector, size_t n)
{
	const struct iovec whole = { (void *)*vector, n * sizeof(**vector) };
	struct iovec room[ADSM_IO_ROOM(1)];
	struct adsm_io io ADSM_CLEANUP(adsm_io_cleanup) = { 0 };

	if (!adsm_may_be_shared(*vector, whole.iov_len))
		return adsm_range_readable(*vector, whole.iov_len) ? 0 : -EFAULT;
	if (adsm_io_begin_output(&io, &whole, 1, room))
		return -EIO;
	if (io.n != 1 || io.vector->iov_base == *vector)
		return -EFAULT;
	*vector = io.vector->iov_base;
	return 0;
}

int adsm_range_begin_lent(struct adsm_io *io, const struct iovec *vector, int n, struct iovec *room)
{
	io->lends = true;
	return adsm_io_begin_output(io, vector, n, room);
}

int adsm_range_begin_update(struct adsm_io *io, const struct iovec *vector, int n, struct iovec *room)
{
	int error = adsm_io_begin_output(io, vector, n, room);

	return error ? error : adsm_io_begin_input(io, vector, n, room);
}

struct iovec *adsm_room_begin(struct adsm_room *room, size_t n)
{
	void *p;

	room->mapped = NULL;
	room->size = ADSM_IO_ROOM(n) * sizeof(struct iovec);
	if (room->size <= sizeof(room->few))
		return room->few;
	p = mmap(NULL, room->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	room->mapped = p == MAP_FAILED ? NULL : p;
	return room->mapped;
}

void adsm_room_end(struct adsm_room *room)
{
	if (room->mapped)
		adsm_os_unmap(room->mapped, room->size);
}

int adsm_vector_begin(struct adsm_io *io, const struct iovec *vector, size_t n, struct iovec *room,
		      adsm_range_begin_function *begin)
{
	int error = adsm_vector_reach(&vector, n);

	for (size_t i = 0; !error && i < n; i++)
		error = vector[i].iov_len > SSIZE_MAX ? -EFAULT : 0;
	return error ? error : begin(io, vector, (int)n, room) ? -EIO : 0;
}

int adsm_range_begin(struct adsm_io *io, void **p, size_t size, struct iovec *room,
		     adsm_range_begin_function *begin)
{
	const struct iovec whole = { *p, size };

	if (!adsm_range_given(*p, size))
		return 0;
	if (begin(io, &whole, 1, room))
		return -EIO;
	if (io->n == 1)
		*p = io->vector->iov_base;
	return 0;
}
