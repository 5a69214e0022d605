/* SPDX-License-Identifier: MIT */
/* peer.c - process_vm_readv() and process_vm_writev(). The system does not read or write closed pages of another
 * process's shared memory. Then the library asks that process for them (run/copy/peers.h). */
#include <string.h>
#include <unistd.h>

#include "range.h"
#include "run/copy/peers.h"

typedef __typeof__(&process_vm_readv) process_vm_function;

/* One call. Its vectors are the program's, or replacements. */
struct call {
	process_vm_function function;
	pid_t pid;
	bool write;
	const struct iovec *local, *remote;
	size_t n_local, n_remote;
	unsigned long flags;
};

static ssize_t make_call(const struct call *call)
{
	return call->function(call->pid, call->local, call->n_local, call->remote, call->n_remote, call->flags);
}

/* ---- what the system has refused */

static size_t sum(const struct iovec *vector, size_t n)
{
	size_t size = 0;

	for (size_t i = 0; i < n; i++)
		size += vector[i].iov_len;
	return size;
}

/* Remove the first @size bytes from a vector. */
static void advance(struct iovec **vector, size_t *n, size_t size)
{
	while (*n && size >= (*vector)->iov_len) {
		size -= (*vector)->iov_len;
		(*vector)++;
		(*n)--;
	}
	if (size) {
		(*vector)->iov_base = (char *)(*vector)->iov_base + size;
		(*vector)->iov_len -= size;
	}
}

/* Copy the first pieces of a vector: at most @size bytes in at most @room pieces. Returns the number of bytes. */
static size_t head(const struct iovec *vector, size_t n, size_t size, struct iovec *ret_head, int room, int *ret_n)
{
	size_t done = 0;
	int k = 0;

	for (size_t i = 0; i < n && k < room && done < size; i++) {
		struct iovec piece = vector[i];

		if (piece.iov_len > size - done)
			piece.iov_len = size - done;
		done += piece.iov_len;
		if (piece.iov_len)
			ret_head[k++] = piece;
	}
	*ret_n = k;
	return done;
}

/* Transfer @size bytes between both vectors, and remove them from *local. Returns the number of bytes transferred. */
static size_t transfer(const struct call *call, struct iovec **local, size_t *n_local, struct iovec *remote,
		       size_t n_remote, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = call->function(call->pid, *local, *n_local < IOV_MAX ? *n_local : IOV_MAX, remote, n_remote,
					   call->flags);

		if (n <= 0)
			break;
		done += (size_t)n;
		advance(local, n_local, (size_t)n);
		advance(&remote, &n_remote, (size_t)n);
	}
	return done;
}

/* Repeat the whole transfer with the help of the other process. Returns the larger of its result and @n, the first. */
ADSM_SLOW ssize_t transfer_by_peer(const struct call *call, size_t size, ssize_t n)
{
	struct adsm_room room ADSM_CLEANUP(adsm_room_end);
	struct iovec *local = adsm_room_begin(&room, call->n_local + call->n_remote), *remote;
	struct iovec ranges[ADSM_PEER_RANGES], pieces[ADSM_PEER_PIECES];
	size_t n_local = call->n_local, n_remote = call->n_remote, done = 0, moved = 1;
	int saved_errno = errno, error = 0, n_ranges, n_pieces, fd;

	if (!local)
		return n > 0 ? n : adsm_refuse(ENOMEM);
	remote = local + n_local;
	memcpy(local, call->local, n_local * sizeof(*local));
	memcpy(remote, call->remote, n_remote * sizeof(*remote));
	while (done < size && moved && !error) {
		size_t part = head(remote, n_remote, size - done, ranges, ADSM_PEER_RANGES, &n_ranges);

		error = adsm_peer_begin(call->pid, call->write, ranges, n_ranges, pieces, &n_pieces, &fd);
		if (error)
			break;
		moved = transfer(call, &local, &n_local, pieces, (size_t)n_pieces, part);
		error = adsm_peer_end(call->pid, fd, call->write, moved);
		advance(&remote, &n_remote, moved);
		done += error ? 0 : moved;
		moved = moved == part ? moved : 0;
	}
	errno = saved_errno;
	/* As in the system, a transfer of some bytes is no error. */
	if (error && error != -ENOENT && !done && n < 0)
		return adsm_refuse(error == -ESRCH ? ESRCH : EIO);
	return done && (n < 0 || done > (size_t)n) ? (ssize_t)done : n;
}

/* Make the call; if it got less than asked for from another process, ask that process. */
static inline ssize_t reach(const struct call *call)
{
	ssize_t n = make_call(call);
	size_t local, remote;

	if (__builtin_expect(n < 0 && errno != EFAULT, 0) || !call->n_remote)
		return n;
	/* EFAULT may be about the vectors themselves. */
	if (n < 0 && (!adsm_range_readable(call->local, call->n_local * sizeof(*call->local)) ||
		      !adsm_range_readable(call->remote, call->n_remote * sizeof(*call->remote)))) {
		errno = EFAULT;
		return n;
	}
	local = sum(call->local, call->n_local);
	remote = sum(call->remote, call->n_remote);
	local = local < remote ? local : remote;
	return (n < 0 || (size_t)n < local) && call->pid != getpid() ? transfer_by_peer(call, local, n) : n;
}

/* ---- the calls */

ADSM_SLOW ssize_t shared(struct call call)
{
	bool ours = call.n_remote && call.pid == getpid();
	struct adsm_room room ADSM_CLEANUP(adsm_room_end);
	struct iovec *here_room = adsm_room_begin(&room, call.n_local + 1 + (ours ? call.n_remote : 0));
	struct iovec *there_room;
	struct adsm_io here ADSM_CLEANUP(adsm_io_cleanup) = { 0 }, there ADSM_CLEANUP(adsm_io_cleanup) = { 0 };
	ssize_t n;
	int error;

	adsm_io_look_back(ADSM_STACK());
	if (!here_room)
		return adsm_refuse(ENOMEM);
	there_room = here_room + ADSM_IO_ROOM(call.n_local + 1);	/* an empty vector also needs an entry */
	error = adsm_vector_reach(&call.remote, call.n_remote);
	/* First the memory that is read: it may share a block with memory that is written. */
	if (!error && call.write)
		error = adsm_vector_begin(&here, call.local, call.n_local, here_room, ADSM_OUTPUT);
	if (!error && ours)
		error = adsm_vector_begin(&there, call.remote, call.n_remote, there_room,
					  call.write ? ADSM_INPUT : ADSM_OUTPUT);
	if (!error && !call.write)
		error = adsm_vector_begin(&here, call.local, call.n_local, here_room, ADSM_INPUT);
	if (error == -EFAULT)
		return make_call(&call);
	if (error)
		return adsm_refuse(EIO);
	call.local = here.vector;
	call.n_local = (size_t)adsm_vector_pieces(&here);
	if (ours) {
		call.remote = there.vector;
		call.n_remote = (size_t)adsm_vector_pieces(&there);
	}
	n = reach(&call);
	return adsm_range_end(call.write ? &there : &here, n);
}

/* If a vector is too long or unreadable, the system gets the call unchanged, and reports the error. */
#define PROCESS_VM(name, write_) \
	ADSM_REAL(name); \
	ADSM_WRAPPER ssize_t name(pid_t pid, const struct iovec *local, unsigned long n_local, \
				  const struct iovec *remote, unsigned long n_remote, \
				  unsigned long flags) \
	{ \
		const struct call call = { real(name), pid, write_, local, remote, n_local, n_remote, flags }; \
 \
		if (n_local > IOV_MAX || n_remote > IOV_MAX) \
			return make_call(&call); \
		if (adsm_vector_shared(local, n_local) || adsm_vector_shared(remote, n_remote)) \
			return shared(call); \
		return reach(&call); \
	}
PROCESS_VM(process_vm_readv, false)
PROCESS_VM(process_vm_writev, true)
