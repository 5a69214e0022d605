/* SPDX-License-Identifier: MIT */
/* io.c - bulk input and output by system calls. */
#undef _FILE_OFFSET_BITS	/* pread() and pread64() are two names here */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <mqueue.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "interpose.h"
#include "run/copy.h"

#define CLEANUP(how) __attribute__((cleanup(how)))
#define SLOW static __attribute__((noinline))

/* ---- what is shared */

static inline bool idle(void)
{
	return atomic_load_explicit(&adsm_shared_range.size, memory_order_relaxed) == 0;
}

/* Worth a look? Not where nothing can move, or the system refuses the size. */
static inline bool shared(const void *p, size_t size)
{
	return adsm_may_be_shared(p, size) && size - 1 < SSIZE_MAX;
}

/*
 * May we read an argument that the system would refuse with EFAULT where it is not there? What lies close above
 * us on the stack is, and what lies in the page that was there last time; else a call that copies 8 bytes from it and
 * then refuses to do anything tells.
 */
static bool readable(const void *p, size_t size)
{
	static __thread uintptr_t known_page;
	uintptr_t at = (uintptr_t)p, end = at + size, page = 4096;
	int saved_errno = errno;
	bool known = true;

	if (at - (uintptr_t)__builtin_frame_address(0) < page && size < page)
		return true;
	if (end < at)
		return false;
	if (known_page && at - known_page < page && end - known_page <= page)
		return true;
	for (at &= -(uintptr_t)8; known && at < end; at = (at | (page - 1)) + 1) {
		known = syscall(SYS_rt_sigprocmask, -1, at, NULL, 8) == -1 && errno == EINVAL;
		known_page = known ? at & -page : 0;
	}
	errno = saved_errno;
	return known;
}

/* Does a vector, or what it names, need us? One that the system refuses does not. */
static bool shared_vector(const struct iovec *vector, size_t n)
{
	bool any = false;

	if (idle() || n - 1 >= IOV_MAX)
		return false;
	if (adsm_may_be_shared(vector, n * sizeof(*vector)))
		return true;
	if (!readable(vector, n * sizeof(*vector)))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (vector[i].iov_len > SSIZE_MAX)
			return false;
		any |= shared(vector[i].iov_base, vector[i].iov_len);
	}
	return any;
}

/* ---- arguments: 0; -EFAULT: let the system see the caller's own; else it cannot be had */

/* Copy one to us, or back. */
static int take(void *own, const void *p, size_t size)
{
	int error = 0;

	if (adsm_may_be_shared(p, size))
		error = adsm_io_copy(own, p, size);
	else if (readable(p, size))
		memcpy(own, p, size);
	else
		error = -EFAULT;
	return error == -EINVAL ? -EFAULT : error;
}

static int give(void *p, const void *own, size_t size)
{
	int error = 0;

	if (adsm_may_be_shared(p, size))
		error = adsm_io_copy(p, own, size);
	else
		memcpy(p, own, size);
	return error == -EINVAL ? -EFAULT : error;
}

/* Let a vector be read, where it lies. */
static int reach_vector(const struct iovec **vector, size_t n)
{
	const struct iovec whole = { (void *)*vector, n * sizeof(**vector) };
	struct iovec room[ADSM_IO_ROOM(1)];
	struct adsm_io io CLEANUP(adsm_io_cleanup) = { 0 };

	if (!adsm_may_be_shared(*vector, whole.iov_len))
		return readable(*vector, whole.iov_len) ? 0 : -EFAULT;
	if (adsm_io_begin_output(&io, &whole, 1, room))
		return -EIO;
	if (io.n != 1 || io.vector->iov_base == *vector)
		return -EFAULT;
	*vector = io.vector->iov_base;
	return 0;
}

/* What cannot be written back either. */
static int refuse(int error)
{
	return adsm_refuse(error == -EFAULT ? EFAULT : EIO);
}

/* ---- transfers */

/* What the system does with memory; UPDATE: it may write less of it than its result says. */
#define OUTPUT adsm_io_begin_output
#define INPUT adsm_io_begin_input
#define UPDATE begin_update

typedef int begin_function(struct adsm_io *io, const struct iovec *vector, int n, struct iovec *room);

static int begin_update(struct adsm_io *io, const struct iovec *vector, int n, struct iovec *room)
{
	int error = adsm_io_begin_output(io, vector, n, room);

	return error ? error : adsm_io_begin_input(io, vector, n, room);
}

static int begin_vector(struct adsm_io *io, const struct iovec *vector, size_t n, struct iovec *room,
			begin_function *begin)
{
	int error = reach_vector(&vector, n);

	for (size_t i = 0; !error && i < n; i++)
		error = vector[i].iov_len > SSIZE_MAX ? -EFAULT : 0;
	return error ? error : begin(io, vector, (int)n, room) ? -EIO : 0;
}

/* Splitting may make a vector longer than the system takes: then less is transferred. */
static int pieces(const struct adsm_io *io)
{
	return io->n < IOV_MAX ? io->n : IOV_MAX;
}

/* The result of a call; of a datagram that was cut it is more than has come. */
static ssize_t end(struct adsm_io *io, ssize_t n)
{
	size_t delivered = n < 0 ? 0 : (size_t)n < io->size ? (size_t)n : io->size;

	return adsm_io_end(io, delivered) ? adsm_refuse(EIO) : n;
}

/* ---- vectors: one row is a wrapper. */

#define PIECES io.vector, pieces(&io)

#define VECTOR(begin, name, parameters, arguments, call) \
	ADSM_REAL(name); \
	SLOW ssize_t name##_shared parameters \
	{ \
		struct adsm_io io CLEANUP(adsm_io_cleanup) = { .where = __builtin_return_address(0) }; \
		struct iovec room[ADSM_IO_ROOM(n)]; \
		int error = begin_vector(&io, vector, (size_t)n, room, begin); \
 \
		if (error == -EFAULT) \
			return real(name) arguments; \
		return error ? adsm_refuse(EIO) : end(&io, call); \
	} \
	ADSM_WRAPPER ssize_t name parameters \
	{ \
		return shared_vector(vector, (size_t)n) ? name##_shared arguments : \
			real(name) arguments; \
	}

VECTOR(INPUT, readv, (int fd, const struct iovec *vector, int n), (fd, vector, n),
       real(readv)(fd, PIECES))
VECTOR(OUTPUT, writev, (int fd, const struct iovec *vector, int n), (fd, vector, n),
       real(writev)(fd, PIECES))

#define AT(begin, name) \
	VECTOR(begin, name, (int fd, const struct iovec *vector, int n, off64_t at), \
	       (fd, vector, n, at), real(name)(fd, PIECES, at))
AT(INPUT, preadv)
AT(INPUT, preadv64)
AT(OUTPUT, pwritev)
AT(OUTPUT, pwritev64)

#define AT_WITH_FLAGS(begin, name) \
	VECTOR(begin, name, (int fd, const struct iovec *vector, int n, off64_t at, int flags), \
	       (fd, vector, n, at, flags), real(name)(fd, PIECES, at, flags))
AT_WITH_FLAGS(INPUT, preadv2)
AT_WITH_FLAGS(INPUT, preadv64v2)
AT_WITH_FLAGS(OUTPUT, pwritev2)
AT_WITH_FLAGS(OUTPUT, pwritev64v2)

/* Into a pipe, or out of one. */
VECTOR((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY ? INPUT : OUTPUT,
       vmsplice, (int fd, const struct iovec *vector, size_t n, unsigned flags),
       (fd, vector, n, flags), real(vmsplice)(fd, io.vector, (size_t)pieces(&io), flags))

/* ---- single buffers: a row says what to call where it is still one, and where it is several */

#define PIECE io.vector->iov_base, io.vector->iov_len

#define BUFFER(begin, name, parameters, arguments, one, several) \
	ADSM_REAL(name); \
	ADSM_WRAPPER ssize_t name parameters; \
	SLOW ssize_t name##_shared parameters \
	{ \
		const struct iovec whole = { (void *)p, size }; \
		struct adsm_io io CLEANUP(adsm_io_cleanup) = { .where = __builtin_return_address(0) }; \
		struct iovec room[ADSM_IO_ROOM(1)]; \
 \
		if ((begin)(&io, &whole, 1, room)) \
			return adsm_refuse(EIO); \
		return end(&io, io.n == 1 ? one : several); \
	} \
	ADSM_WRAPPER ssize_t name parameters \
	{ \
		return shared(p, size) ? name##_shared arguments : real(name) arguments; \
	}

#define READ(name) \
	BUFFER(INPUT, name, (int fd, void *p, size_t size), (fd, p, size), \
	       real(name)(fd, PIECE), real(readv)(fd, PIECES))
READ(read)
READ(__read)

#define WRITE(name) \
	BUFFER(OUTPUT, name, (int fd, const void *p, size_t size), (fd, p, size), \
	       real(name)(fd, PIECE), real(writev)(fd, PIECES))
WRITE(write)
WRITE(__write)

#define PREAD(name) \
	BUFFER(INPUT, name, (int fd, void *p, size_t size, off64_t at), (fd, p, size, at), \
	       real(name)(fd, PIECE, at), real(preadv64)(fd, PIECES, at))
PREAD(pread)
PREAD(pread64)
PREAD(__pread64)

#define PWRITE(name) \
	BUFFER(OUTPUT, name, (int fd, const void *p, size_t size, off64_t at), \
	       (fd, p, size, at), real(name)(fd, PIECE, at), real(pwritev64)(fd, PIECES, at))
PWRITE(pwrite)
PWRITE(pwrite64)
PWRITE(__pwrite64)

/* Those that know how large the buffer is leave by abort() where it is too small. */
BUFFER(INPUT, __read_chk, (int fd, void *p, size_t size, size_t most), (fd, p, size, most),
       real(__read_chk)(fd, PIECE, most),
       size > most ? real(__read_chk)(fd, p, size, most) : real(readv)(fd, PIECES))

#define PREAD_CHK(name) \
	BUFFER(INPUT, name, (int fd, void *p, size_t size, off64_t at, size_t most), \
	       (fd, p, size, at, most), real(name)(fd, PIECE, at, most), \
	       size > most ? real(name)(fd, p, size, at, most) : real(preadv64)(fd, PIECES, at))
PREAD_CHK(__pread_chk)
PREAD_CHK(__pread64_chk)

/* Padding between entries is left as it was. What leaves its object is cut: fewer entries. */
BUFFER(UPDATE, getdents64, (int fd, void *p, size_t size), (fd, p, size),
       real(getdents64)(fd, PIECE), real(getdents64)(fd, PIECE))

BUFFER(INPUT, getrandom, (void *p, size_t size, unsigned flags), (p, size, flags),
       real(getrandom)(PIECE, flags), real(getrandom)(PIECE, flags))

ADSM_REAL(getentropy);

ADSM_WRAPPER int getentropy(void *p, size_t size)
{
	unsigned char bytes[256];
	int error;

	if (!shared(p, size) || size > sizeof(bytes))
		return real(getentropy)(p, size);
	if (real(getentropy)(bytes, size))
		return -1;
	error = give(p, bytes, size);
	return error ? refuse(error) : 0;
}

/* Where libc cannot have random bytes for it, it aborts. */
void arc4random_buf(void *p, size_t size);
ADSM_REAL(arc4random_buf);

ADSM_WRAPPER void arc4random_buf(void *p, size_t size)
{
	const struct iovec whole = { p, size };
	struct adsm_io io CLEANUP(adsm_io_cleanup) = { 0 };
	struct iovec room[ADSM_IO_ROOM(1)];

	if (!shared(p, size) || adsm_io_begin_input(&io, &whole, 1, room)) {
		real(arc4random_buf)(p, size);
		return;
	}
	for (int i = 0; i < io.n; i++)
		real(arc4random_buf)(io.vector[i].iov_base, io.vector[i].iov_len);
	adsm_io_end(&io, size);
}

/* ---- memory of processes, ours too */

static ssize_t process_vm(__typeof__(&process_vm_readv) call, pid_t pid, const struct iovec *local,
			  size_t n_local, const struct iovec *remote, size_t n_remote,
			  unsigned long flags, bool write)
{
	bool ours = n_remote && pid == getpid();
	struct adsm_io here CLEANUP(adsm_io_cleanup) = { 0 }, there CLEANUP(adsm_io_cleanup) = { 0 };
	struct iovec here_room[ADSM_IO_ROOM(n_local + 1)];
	struct iovec there_room[ADSM_IO_ROOM(ours ? n_remote : 1)];
	ssize_t n;
	int error;

	error = reach_vector(&remote, n_remote);
	/* What is read must be there first: it may share a block with what is written. */
	if (!error && write)
		error = begin_vector(&here, local, n_local, here_room, OUTPUT);
	if (!error && ours)
		error = begin_vector(&there, remote, n_remote, there_room, write ? INPUT : OUTPUT);
	if (!error && !write)
		error = begin_vector(&here, local, n_local, here_room, INPUT);
	if (error == -EFAULT)
		return call(pid, local, n_local, remote, n_remote, flags);
	if (error)
		return adsm_refuse(EIO);
	n = call(pid, here.vector, (unsigned long)pieces(&here), ours ? there.vector : remote,
		 ours ? (unsigned long)pieces(&there) : n_remote, flags);
	return end(write ? &there : &here, n);
}

#define PROCESS_VM(name, write) \
	ADSM_REAL(name); \
	ADSM_WRAPPER ssize_t name(pid_t pid, const struct iovec *local, unsigned long n_local, \
				  const struct iovec *remote, unsigned long n_remote, \
				  unsigned long flags) \
	{ \
		if (n_local <= IOV_MAX && n_remote <= IOV_MAX && \
		    (shared_vector(local, n_local) || shared_vector(remote, n_remote))) \
			return process_vm(real(name), pid, local, n_local, remote, n_remote, flags, \
					  write); \
		return real(name)(pid, local, n_local, remote, n_remote, flags); \
	}
PROCESS_VM(process_vm_readv, false)
PROCESS_VM(process_vm_writev, true)

/* ---- messages */

ADSM_REAL(recvmsg);
ADSM_REAL(sendmsg);
ADSM_REAL(recvmmsg);
ADSM_REAL(sendmmsg);

#define BATCH 32	/* messages in one call */

/* A message under way. */
struct message {
	struct adsm_io data, name, control;
	struct iovec name_room[ADSM_IO_ROOM(1)], control_room[ADSM_IO_ROOM(1)];
};

/* Without an address, a size means nothing. */
static bool shared_part(const void *p, size_t size)
{
	return p && shared(p, size);
}

static bool shared_message(const struct msghdr *header)
{
	return shared_part(header->msg_name, header->msg_namelen) ||
		shared_part(header->msg_control, header->msg_controllen) ||
		shared_vector(header->msg_iov, header->msg_iovlen);
}

/* What a message that may be discarded, or a control message, leaves unwritten. */
static begin_function *way_in(int flags)
{
	return flags & MSG_TRUNC ? UPDATE : INPUT;
}

static void message_cleanup(struct message *message)
{
	adsm_io_end(&message->data, 0);
	adsm_io_end(&message->name, 0);
	adsm_io_end(&message->control, 0);
}

static int begin_part(struct adsm_io *io, void **p, size_t size, struct iovec *room, begin_function *begin)
{
	const struct iovec whole = { *p, size };

	if (!shared_part(*p, size))
		return 0;
	if (begin(io, &whole, 1, room))
		return -EIO;
	if (io->n == 1)
		*p = io->vector->iov_base;
	return 0;
}

/* Change our copy of a message's header to what the system is to see. */
static int begin_message(struct message *message, struct msghdr *header, struct iovec *room, begin_function *begin)
{
	begin_function *small = begin == OUTPUT ? OUTPUT : UPDATE;
	int error;

	error = begin_part(&message->name, &header->msg_name, header->msg_namelen, message->name_room, small);
	if (!error)
		error = begin_part(&message->control, &header->msg_control, header->msg_controllen,
				   message->control_room, small);
	if (error || !shared_vector(header->msg_iov, header->msg_iovlen))
		return error;
	error = begin_vector(&message->data, header->msg_iov, header->msg_iovlen, room, begin);
	if (!error) {
		header->msg_iov = message->data.vector;
		header->msg_iovlen = (size_t)pieces(&message->data);
	}
	return error == -EFAULT ? 0 : error;
}

/* After input: @n bytes have come. */
static int end_message(struct message *message, const struct msghdr *header, ssize_t n)
{
	bool failed;

	failed = end(&message->data, n) < 0;
	failed |= end(&message->name, n < 0 ? n : (ssize_t)header->msg_namelen) < 0;
	failed |= end(&message->control, n < 0 ? n : (ssize_t)header->msg_controllen) < 0;
	return failed && n >= 0 ? -EIO : 0;
}

/* One message, of which @header is our copy. */
static ssize_t send_one(int fd, struct msghdr *header, int flags)
{
	struct message message CLEANUP(message_cleanup) = { 0 };
	struct iovec room[ADSM_IO_ROOM(header->msg_iovlen <= IOV_MAX ? header->msg_iovlen + 1 : 1)];

	if (begin_message(&message, header, room, OUTPUT))
		return adsm_refuse(EIO);
	return real(sendmsg)(fd, header, flags);
}

static ssize_t receive_one(int fd, struct msghdr *header, int flags)
{
	struct message message CLEANUP(message_cleanup) = { 0 };
	struct iovec room[ADSM_IO_ROOM(header->msg_iovlen <= IOV_MAX ? header->msg_iovlen + 1 : 1)];
	ssize_t n;

	if (begin_message(&message, header, room, way_in(flags)))
		return adsm_refuse(EIO);
	n = real(recvmsg)(fd, header, flags);
	return end_message(&message, header, n) ? adsm_refuse(EIO) : n;
}

/* Tell the caller what the system wrote into our copy of a header. */
static int give_header(struct msghdr *to, const struct msghdr *own)
{
	int error;

	error = give(&to->msg_namelen, &own->msg_namelen, sizeof(own->msg_namelen));
	if (!error)
		error = give(&to->msg_controllen, &own->msg_controllen, sizeof(own->msg_controllen));
	return error ? error : give(&to->msg_flags, &own->msg_flags, sizeof(own->msg_flags));
}

SLOW ssize_t sendmsg_shared(int fd, const struct msghdr *header, int flags)
{
	struct msghdr own;
	int error = take(&own, header, sizeof(own));

	if (error == -EFAULT)
		return real(sendmsg)(fd, header, flags);
	return error ? adsm_refuse(EIO) : send_one(fd, &own, flags);
}

SLOW ssize_t recvmsg_shared(int fd, struct msghdr *header, int flags)
{
	struct msghdr own;
	int error = take(&own, header, sizeof(own));
	ssize_t n;

	if (error == -EFAULT)
		return real(recvmsg)(fd, header, flags);
	if (error)
		return adsm_refuse(EIO);
	n = receive_one(fd, &own, flags);
	error = n < 0 ? 0 : give_header(header, &own);
	return error ? refuse(error) : n;
}

static bool shared_header(const struct msghdr *header)
{
	return !idle() && (adsm_may_be_shared(header, sizeof(*header)) ||
			   (readable(header, sizeof(*header)) && shared_message(header)));
}

ADSM_WRAPPER ssize_t sendmsg(int fd, const struct msghdr *header, int flags)
{
	return shared_header(header) ? sendmsg_shared(fd, header, flags) : real(sendmsg)(fd, header, flags);
}

ADSM_WRAPPER ssize_t recvmsg(int fd, struct msghdr *header, int flags)
{
	return shared_header(header) ? recvmsg_shared(fd, header, flags) : real(recvmsg)(fd, header, flags);
}

/* ---- many messages */

struct batch {
	struct message *messages;
	unsigned n;
};

static void batch_cleanup(struct batch *batch)
{
	for (unsigned i = 0; i < batch->n; i++)
		message_cleanup(&batch->messages[i]);
}

static bool shared_headers(const struct mmsghdr *headers, unsigned n)
{
	bool any = false;

	if (idle() || !n)
		return false;
	n = n < IOV_MAX ? n : IOV_MAX;
	if (adsm_may_be_shared(headers, n * sizeof(*headers)))
		return true;
	if (!readable(headers, n * sizeof(*headers)))
		return false;
	for (unsigned i = 0; i < n && !any; i++)
		any = shared_message(&headers[i].msg_hdr);
	return any;
}

/* The first of them, as many as there is room for. */
SLOW int some(int fd, struct mmsghdr *headers, unsigned n, int flags, struct timespec *timeout, bool input)
{
	unsigned most = n < BATCH ? n : BATCH;
	struct mmsghdr own[most + 1];
	struct message messages[most + 1];
	struct batch batch CLEANUP(batch_cleanup) = { messages, 0 };
	size_t entries = 0;
	int done, error;

	error = take(own, headers, most * sizeof(*own));
	for (n = 0; !error && n < most; n++) {
		size_t more = own[n].msg_hdr.msg_iovlen;

		more = more <= IOV_MAX ? more : 0;
		if (n && entries + more > IOV_MAX)
			break;
		entries += more;
	}

	struct iovec room[ADSM_IO_ROOM(entries + 1)], *free_room = room;

	while (!error && batch.n < n) {
		struct msghdr *header = &own[batch.n].msg_hdr;
		size_t used = header->msg_iovlen <= IOV_MAX ? header->msg_iovlen : 0;

		messages[batch.n] = (struct message){ 0 };
		error = begin_message(&messages[batch.n++], header, free_room, input ? way_in(flags) : OUTPUT);
		free_room += ADSM_IO_ROOM(used);
	}
	/* Those before the one that failed can go. */
	n = error && batch.n ? batch.n - 1 : n;
	if (error == -EFAULT)
		return input ? real(recvmmsg)(fd, headers, most, flags, timeout) :
			real(sendmmsg)(fd, headers, most, flags);
	if (error && !n)
		return adsm_refuse(EIO);
	done = input ? real(recvmmsg)(fd, own, n, flags, timeout) : real(sendmmsg)(fd, own, n, flags);
	error = 0;
	for (int i = 0; i < done; i++) {
		int failed = 0;

		if (input)
			failed = end_message(&messages[i], &own[i].msg_hdr, own[i].msg_len);
		if (input && !failed)
			failed = give_header(&headers[i].msg_hdr, &own[i].msg_hdr);
		if (!failed)
			failed = give(&headers[i].msg_len, &own[i].msg_len, sizeof(own[i].msg_len));
		error = error ? error : failed;
	}
	return error ? refuse(error) : done;
}

/* All of them, as the system does it: what fails later is told next time. */
static int many(int fd, struct mmsghdr *headers, unsigned n, int flags, struct timespec *timeout, bool input)
{
	int saved_errno = errno, total = 0, done;

	n = n < IOV_MAX ? n : IOV_MAX;
	do {
		done = some(fd, headers + total, n - (unsigned)total, flags, timeout, input);
		if (done < 0 && !total)
			return -1;
		if (done < 0)
			errno = saved_errno;
		total += done > 0 ? done : 0;
		if (flags & MSG_WAITFORONE)
			flags |= MSG_DONTWAIT;
	} while (done >= BATCH && (unsigned)total < n && !(timeout && !timeout->tv_sec && !timeout->tv_nsec));
	return total;
}

ADSM_WRAPPER int sendmmsg(int fd, struct mmsghdr *headers, unsigned n, int flags)
{
	return shared_headers(headers, n) ? many(fd, headers, n, flags, NULL, false) :
		real(sendmmsg)(fd, headers, n, flags);
}

/* The time left, too, may be in shared memory. */
SLOW int recvmmsg_shared(int fd, struct mmsghdr *headers, unsigned n, int flags, struct timespec *timeout)
{
	struct timespec left;
	int error = timeout ? take(&left, timeout, sizeof(left)) : 0, done;

	if (error == -EFAULT)
		return real(recvmmsg)(fd, headers, n, flags, timeout);
	if (error)
		return adsm_refuse(EIO);
	done = many(fd, headers, n, flags, timeout ? &left : NULL, true);
	error = timeout && done > 0 ? give(timeout, &left, sizeof(left)) : 0;
	return error ? refuse(error) : done;
}

ADSM_WRAPPER int recvmmsg(int fd, struct mmsghdr *headers, unsigned n, int flags, struct timespec *timeout)
{
	return shared_headers(headers, n) || (!idle() && adsm_may_be_shared(timeout, sizeof(*timeout))) ?
		recvmmsg_shared(fd, headers, n, flags, timeout) : real(recvmmsg)(fd, headers, n, flags, timeout);
}

/* ---- messages of one buffer */

/* What recv() and send() are where the buffer became several. */
static ssize_t receive_pieces(int fd, const struct adsm_io *io, int flags)
{
	return real(recvmsg)(fd, &(struct msghdr){ .msg_iov = io->vector, .msg_iovlen = (size_t)pieces(io) }, flags);
}

static ssize_t send_pieces(int fd, const struct adsm_io *io, int flags)
{
	return real(sendmsg)(fd, &(struct msghdr){ .msg_iov = io->vector, .msg_iovlen = (size_t)pieces(io) }, flags);
}

BUFFER(way_in(flags), recv, (int fd, void *p, size_t size, int flags), (fd, p, size, flags),
       real(recv)(fd, PIECE, flags), receive_pieces(fd, &io, flags))
BUFFER(way_in(flags), __recv_chk, (int fd, void *p, size_t size, size_t most, int flags), (fd, p, size, most, flags),
       real(__recv_chk)(fd, PIECE, most, flags),
       size > most ? real(__recv_chk)(fd, p, size, most, flags) : receive_pieces(fd, &io, flags))

#define SEND(name) \
	BUFFER(OUTPUT, name, (int fd, const void *p, size_t size, int flags), (fd, p, size, flags), \
	       real(name)(fd, PIECE, flags), send_pieces(fd, &io, flags))
SEND(send)
SEND(__send)

ADSM_REAL(sendto);
ADSM_REAL(recvfrom);

SLOW ssize_t sendto_shared(int fd, const void *p, size_t size, int flags, const void *name, socklen_t length)
{
	struct iovec whole = { (void *)p, size };
	struct msghdr header = { (void *)name, length, &whole, 1, NULL, 0, 0 };

	return send_one(fd, &header, flags);
}

/* An address that is too long is refused here, and cut in a message. */
ADSM_WRAPPER ssize_t sendto(int fd, const void *p, size_t size, int flags, __CONST_SOCKADDR_ARG name, socklen_t length)
{
	if ((shared(p, size) || adsm_may_be_shared(name.__sockaddr__, 1)) &&
	    (!name.__sockaddr__ || length <= sizeof(struct sockaddr_storage)))
		return sendto_shared(fd, p, size, flags, name.__sockaddr__, length);
	return real(sendto)(fd, p, size, flags, name, length);
}

SLOW ssize_t recvfrom_shared(int fd, void *p, size_t size, int flags, void *name, socklen_t *length)
{
	struct iovec whole = { p, size };
	struct msghdr header = { name, 0, &whole, 1, NULL, 0, 0 };
	int error = name ? take(&header.msg_namelen, length, sizeof(*length)) : 0;
	ssize_t n;

	if (error == -EFAULT)
		return real(recvfrom)(fd, p, size, flags, name, length);
	if (error)
		return adsm_refuse(EIO);
	n = receive_one(fd, &header, flags);
	error = name && n >= 0 ? give(length, &header.msg_namelen, sizeof(*length)) : 0;
	return error ? refuse(error) : n;
}

static inline bool shared_receive(const void *p, size_t size, const void *name, const void *length)
{
	/* The length of the address is in shared memory, so cannot be looked at yet: any there is. */
	return shared(p, size) || adsm_may_be_shared(name, 1) || adsm_may_be_shared(length, sizeof(socklen_t));
}

ADSM_WRAPPER ssize_t recvfrom(int fd, void *p, size_t size, int flags, __SOCKADDR_ARG name, socklen_t *length)
{
	return shared_receive(p, size, name.__sockaddr__, length) ?
		recvfrom_shared(fd, p, size, flags, name.__sockaddr__, length) :
		real(recvfrom)(fd, p, size, flags, name, length);
}

ADSM_WRAPPER ssize_t __recvfrom_chk(int fd, void *p, size_t size, size_t most, int flags, __SOCKADDR_ARG name,
				    socklen_t *length);
ADSM_REAL(__recvfrom_chk);

ADSM_WRAPPER ssize_t __recvfrom_chk(int fd, void *p, size_t size, size_t most, int flags, __SOCKADDR_ARG name,
				    socklen_t *length)
{
	return size <= most && shared_receive(p, size, name.__sockaddr__, length) ?
		recvfrom_shared(fd, p, size, flags, name.__sockaddr__, length) :
		real(__recvfrom_chk)(fd, p, size, most, flags, name, length);
}

/* ---- message queues, and the counters that are read like files */

ADSM_REAL(msgsnd);
ADSM_REAL(msgrcv);
ADSM_REAL(mq_send);
ADSM_REAL(mq_timedsend);
ADSM_REAL(mq_receive);
ADSM_REAL(mq_timedreceive);
ADSM_REAL(eventfd_read);

SLOW int msgsnd_shared(int queue, const void *message, size_t size, int flags)
{
	struct adsm_io io CLEANUP(adsm_io_cleanup) = { 0 };
	struct iovec room[ADSM_IO_ROOM(1)];
	void *p = (void *)message;

	if (begin_part(&io, &p, sizeof(long) + size, room, OUTPUT))
		return adsm_refuse(EIO);
	return real(msgsnd)(queue, p, size, flags);
}

ADSM_WRAPPER int msgsnd(int queue, const void *message, size_t size, int flags)
{
	return shared(message, sizeof(long) + size) ? msgsnd_shared(queue, message, size, flags) :
		real(msgsnd)(queue, message, size, flags);
}

/* Its result leaves the message's type out. */
SLOW ssize_t msgrcv_shared(int queue, void *message, size_t size, long type, int flags)
{
	struct adsm_io io CLEANUP(adsm_io_cleanup) = { 0 };
	struct iovec room[ADSM_IO_ROOM(1)];
	ssize_t n;

	if (begin_part(&io, &message, sizeof(long) + size, room, INPUT))
		return adsm_refuse(EIO);
	n = real(msgrcv)(queue, message, size, type, flags);
	return end(&io, n < 0 ? n : n + (ssize_t)sizeof(long)) < 0 ? -1 : n;
}

ADSM_WRAPPER ssize_t msgrcv(int queue, void *message, size_t size, long type, int flags)
{
	return shared(message, sizeof(long) + size) ? msgrcv_shared(queue, message, size, type, flags) :
		real(msgrcv)(queue, message, size, type, flags);
}

SLOW int mq_send_shared(mqd_t queue, const char *message, size_t size, unsigned priority,
			const struct timespec *until)
{
	struct adsm_io io CLEANUP(adsm_io_cleanup) = { 0 };
	struct iovec room[ADSM_IO_ROOM(1)];
	void *p = (void *)message;
	struct timespec time;
	int error = until ? take(&time, until, sizeof(time)) : 0;

	if (!error)
		error = begin_part(&io, &p, size, room, OUTPUT);
	if (error)
		return refuse(error);
	return until ? real(mq_timedsend)(queue, p, size, priority, &time) : real(mq_send)(queue, p, size, priority);
}

SLOW ssize_t mq_receive_shared(mqd_t queue, void *p, size_t size, unsigned *priority, const struct timespec *until)
{
	struct adsm_io io CLEANUP(adsm_io_cleanup) = { 0 };
	struct iovec room[ADSM_IO_ROOM(1)];
	struct timespec time;
	unsigned own;
	ssize_t n;
	int error = until ? take(&time, until, sizeof(time)) : 0;

	if (!error)
		error = begin_part(&io, &p, size, room, INPUT);
	if (error)
		return refuse(error);
	n = end(&io, until ? real(mq_timedreceive)(queue, p, size, &own, &time) :
			real(mq_receive)(queue, p, size, &own));
	error = n >= 0 && priority ? give(priority, &own, sizeof(own)) : 0;
	return error ? refuse(error) : n;
}

static inline bool shared_time(const struct timespec *time)
{
	return adsm_may_be_shared(time, sizeof(*time));
}

ADSM_WRAPPER int mq_send(mqd_t queue, const char *p, size_t size, unsigned priority)
{
	return shared(p, size) ? mq_send_shared(queue, p, size, priority, NULL) :
		real(mq_send)(queue, p, size, priority);
}

ADSM_WRAPPER int mq_timedsend(mqd_t queue, const char *p, size_t size, unsigned priority,
			      const struct timespec *until)
{
	return shared(p, size) || shared_time(until) ? mq_send_shared(queue, p, size, priority, until) :
		real(mq_timedsend)(queue, p, size, priority, until);
}

ADSM_WRAPPER ssize_t mq_receive(mqd_t queue, char *p, size_t size, unsigned *priority)
{
	return shared(p, size) || adsm_may_be_shared(priority, sizeof(*priority)) ?
		mq_receive_shared(queue, p, size, priority, NULL) : real(mq_receive)(queue, p, size, priority);
}

ADSM_WRAPPER ssize_t mq_timedreceive(mqd_t queue, char *restrict p, size_t size, unsigned *restrict priority,
				     const struct timespec *restrict until)
{
	return shared(p, size) || adsm_may_be_shared(priority, sizeof(*priority)) || shared_time(until) ?
		mq_receive_shared(queue, p, size, priority, until) :
		real(mq_timedreceive)(queue, p, size, priority, until);
}

ADSM_WRAPPER int eventfd_read(int fd, eventfd_t *value)
{
	eventfd_t own;
	int error;

	if (!adsm_may_be_shared(value, sizeof(*value)))
		return real(eventfd_read)(fd, value);
	if (real(eventfd_read)(fd, &own))
		return -1;
	error = give(value, &own, sizeof(own));
	return error ? refuse(error) : 0;
}
