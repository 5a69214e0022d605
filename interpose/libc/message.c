/* SPDX-License-Identifier: MIT */
/* message.c - messages of sockets and of message queues. */
#include <mqueue.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <unistd.h>

#include "range.h"

ADSM_REALS(recvmsg, sendmsg, recvmmsg, sendmmsg)

#define BATCH 8		/* messages in one call: they are on the stack, which may be small */

/* A message in progress. */
struct message {
	struct adsm_io data, name, control;
	struct iovec name_room[ADSM_IO_ROOM(1)], control_room[ADSM_IO_ROOM(1)];
};

static bool shared_message(const struct msghdr *header)
{
	return adsm_range_given(header->msg_name, header->msg_namelen) ||
		adsm_range_given(header->msg_control, header->msg_controllen) ||
		adsm_vector_shared(header->msg_iov, header->msg_iovlen);
}

/* With MSG_TRUNC the system may discard the message, and not write the memory. */
static adsm_range_begin_function *way_in(int flags)
{
	return flags & MSG_TRUNC ? ADSM_UPDATE : ADSM_INPUT;
}

/* With MSG_ZEROCOPY the network uses the pages themselves until it reports that they were sent. */
static adsm_range_begin_function *way_out(int flags)
{
	return flags & MSG_ZEROCOPY ? ADSM_LENT : ADSM_OUTPUT;
}

static void message_cleanup(struct message *message)
{
	adsm_io_cleanup(&message->data);
	adsm_io_cleanup(&message->name);
	adsm_io_cleanup(&message->control);
}

/* Change the library's copy of a message's header: put in the addresses that the system is to use. */
static int begin_message(struct message *message, struct msghdr *header, struct iovec *room,
			 adsm_range_begin_function *begin)
{
	adsm_range_begin_function *small = begin == ADSM_OUTPUT || begin == ADSM_LENT ? ADSM_OUTPUT : ADSM_UPDATE;
	int error;

	error = adsm_range_begin(&message->name, &header->msg_name, header->msg_namelen, message->name_room, small);
	if (!error)
		error = adsm_range_begin(&message->control, &header->msg_control, header->msg_controllen,
				   message->control_room, small);
	if (error || !adsm_vector_shared(header->msg_iov, header->msg_iovlen))
		return error;
	error = adsm_vector_begin(&message->data, header->msg_iov, header->msg_iovlen, room, begin);
	if (!error) {
		header->msg_iov = message->data.vector;
		header->msg_iovlen = (size_t)adsm_vector_pieces(&message->data);
	}
	return error == -EFAULT ? 0 : error;
}

/* After input; @n: the result of the call. */
static int end_message(struct message *message, const struct msghdr *header, ssize_t n)
{
	bool failed;

	failed = adsm_range_end(&message->data, n) < 0;
	failed |= adsm_range_end(&message->name, n < 0 ? n : (ssize_t)header->msg_namelen) < 0;
	failed |= adsm_range_end(&message->control, n < 0 ? n : (ssize_t)header->msg_controllen) < 0;
	return failed && n >= 0 ? -EIO : 0;
}

/* One message; @header is the library's copy. */
static ssize_t one(int fd, struct msghdr *header, int flags, bool input)
{
	struct adsm_room room_ ADSM_CLEANUP(adsm_room_end);
	struct iovec *room = adsm_room_begin(&room_, header->msg_iovlen <= IOV_MAX ? header->msg_iovlen : 0);
	struct message message ADSM_CLEANUP(message_cleanup) = { 0 };
	ssize_t n;

	if (!room)
		return adsm_refuse(ENOMEM);
	if (begin_message(&message, header, room, input ? way_in(flags) : way_out(flags)))
		return adsm_refuse(EIO);
	if (!input)
		return real(sendmsg)(fd, header, flags);
	n = real(recvmsg)(fd, header, flags);
	return end_message(&message, header, n) ? adsm_refuse(EIO) : n;
}

/* Copy to the caller's header what the system wrote into the library's copy. */
static int give_header(struct msghdr *to, const struct msghdr *own)
{
	int error;

	error = adsm_range_give(&to->msg_namelen, &own->msg_namelen, sizeof(own->msg_namelen));
	if (!error)
		error = adsm_range_give(&to->msg_controllen, &own->msg_controllen, sizeof(own->msg_controllen));
	return error ? error : adsm_range_give(&to->msg_flags, &own->msg_flags, sizeof(own->msg_flags));
}

ADSM_SLOW ssize_t one_shared(int fd, struct msghdr *header, int flags, bool input)
{
	struct msghdr own;
	ssize_t n;
	int error;

	adsm_io_look_back(ADSM_STACK());
	error = adsm_range_take(&own, header, sizeof(own));
	if (error == -EFAULT)
		return input ? real(recvmsg)(fd, header, flags) : real(sendmsg)(fd, header, flags);
	if (error)
		return adsm_refuse(EIO);
	n = one(fd, &own, flags, input);
	error = input && n >= 0 ? give_header(header, &own) : 0;
	return error ? adsm_range_refuse(error) : n;
}

static bool shared_header(const struct msghdr *header)
{
	return !adsm_range_idle() && (adsm_may_be_shared(header, sizeof(*header)) ||
			   (adsm_range_readable(header, sizeof(*header)) && shared_message(header)));
}

ADSM_WRAPPER ssize_t sendmsg(int fd, const struct msghdr *header, int flags)
{
	return shared_header(header) ? one_shared(fd, (struct msghdr *)header, flags, false) :
		real(sendmsg)(fd, header, flags);
}

ADSM_WRAPPER ssize_t recvmsg(int fd, struct msghdr *header, int flags)
{
	return shared_header(header) ? one_shared(fd, header, flags, true) : real(recvmsg)(fd, header, flags);
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

	if (adsm_range_idle() || !n)
		return false;
	n = n < IOV_MAX ? n : IOV_MAX;
	if (adsm_may_be_shared(headers, n * sizeof(*headers)))
		return true;
	if (!adsm_range_readable(headers, n * sizeof(*headers)))
		return false;
	for (unsigned i = 0; i < n && !any; i++)
		any = shared_message(&headers[i].msg_hdr);
	return any;
}

/* Send or receive the first messages, as many as BATCH and the room for vectors permit. *ret_n: messages tried. */
ADSM_SLOW int transfer_batch(int fd, struct mmsghdr *headers, unsigned n, int flags, struct timespec *timeout,
			     bool input, unsigned *ret_n)
{
	unsigned most = n < BATCH ? n : BATCH;
	struct adsm_room room ADSM_CLEANUP(adsm_room_end) = { .mapped = NULL };
	struct mmsghdr own[BATCH];
	struct message messages[BATCH];
	struct iovec *free_room;
	struct batch batch ADSM_CLEANUP(batch_cleanup) = { messages, 0 };
	size_t entries = 0;
	int done, error;

	error = adsm_range_take(own, headers, most * sizeof(*own));
	for (n = 0; !error && n < most; n++) {
		size_t more = own[n].msg_hdr.msg_iovlen;

		more = more <= IOV_MAX ? more : 0;
		if (n && entries + more > IOV_MAX)
			break;
		entries += more;
	}
	free_room = adsm_room_begin(&room, entries);
	if (!free_room)
		return adsm_refuse(ENOMEM);
	while (!error && batch.n < n) {
		struct msghdr *header = &own[batch.n].msg_hdr;
		size_t used = header->msg_iovlen <= IOV_MAX ? header->msg_iovlen : 0;

		messages[batch.n] = (struct message){ 0 };
		error = begin_message(&messages[batch.n++], header, free_room, input ? way_in(flags) : way_out(flags));
		free_room += ADSM_IO_ROOM(used);
	}
	/* The messages before the one that failed are still transferred. */
	n = error && batch.n ? batch.n - 1 : n;
	*ret_n = error == -EFAULT ? most : n;
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
			failed = adsm_range_give(&headers[i].msg_len, &own[i].msg_len, sizeof(own[i].msg_len));
		error = error ? error : failed;
	}
	return error ? adsm_range_refuse(error) : done;
}

/* All messages. As in the system, if some were transferred before a failure, the result is their number. */
ADSM_SLOW int transfer_all(int fd, struct mmsghdr *headers, unsigned n, int flags, struct timespec *timeout, bool input)
{
	int saved_errno = errno, total = 0, done;
	unsigned given;

	adsm_io_look_back(ADSM_STACK());
	n = n < IOV_MAX ? n : IOV_MAX;
	do {
		done = transfer_batch(fd, headers + total, n - (unsigned)total, flags, timeout, input, &given);
		if (done < 0 && !total)
			return -1;
		if (done < 0)
			errno = saved_errno;
		total += done > 0 ? done : 0;
		if (flags & MSG_WAITFORONE)
			flags |= MSG_DONTWAIT;
	} while (done > 0 && (unsigned)done == given && (unsigned)total < n &&
		 !(timeout && !timeout->tv_sec && !timeout->tv_nsec));
	return total;
}

ADSM_WRAPPER int sendmmsg(int fd, struct mmsghdr *headers, unsigned n, int flags)
{
	return shared_headers(headers, n) ? transfer_all(fd, headers, n, flags, NULL, false) :
		real(sendmmsg)(fd, headers, n, flags);
}

/* *timeout may be in shared memory, too. */
ADSM_SLOW int recvmmsg_shared(int fd, struct mmsghdr *headers, unsigned n, int flags, struct timespec *timeout)
{
	struct timespec left;
	int error, done;

	adsm_io_look_back(ADSM_STACK());
	error = timeout ? adsm_range_take(&left, timeout, sizeof(left)) : 0;
	if (error == -EFAULT)
		return real(recvmmsg)(fd, headers, n, flags, timeout);
	if (error)
		return adsm_refuse(EIO);
	done = transfer_all(fd, headers, n, flags, timeout ? &left : NULL, true);
	error = timeout && done > 0 ? adsm_range_give(timeout, &left, sizeof(left)) : 0;
	return error ? adsm_range_refuse(error) : done;
}

ADSM_WRAPPER int recvmmsg(int fd, struct mmsghdr *headers, unsigned n, int flags, struct timespec *timeout)
{
	return shared_headers(headers, n) || (!adsm_range_idle() && adsm_may_be_shared(timeout, sizeof(*timeout))) ?
		recvmmsg_shared(fd, headers, n, flags, timeout) : real(recvmmsg)(fd, headers, n, flags, timeout);
}

/* ---- messages of one buffer */

/* For recvmsg() and sendmsg(): a buffer that was split into several pieces. */
#define PIECES &(struct msghdr){ .msg_iov = io.vector, .msg_iovlen = (size_t)adsm_vector_pieces(&io) }

ADSM_BUFFER(way_in(flags), recv, (int fd, void *p, size_t size, int flags), (fd, p, size, flags),
	    real(recv)(fd, ADSM_PIECE, flags), real(recvmsg)(fd, PIECES, flags))
ADSM_BUFFER(way_in(flags), __recv_chk, (int fd, void *p, size_t size, size_t most, int flags),
	    (fd, p, size, most, flags),
       real(__recv_chk)(fd, ADSM_PIECE, most, flags),
       size > most ? real(__recv_chk)(fd, p, size, most, flags) : real(recvmsg)(fd, PIECES, flags))

#define SEND(name) \
	ADSM_BUFFER(way_out(flags), name, (int fd, const void *p, size_t size, int flags), (fd, p, size, flags), \
		    real(name)(fd, ADSM_PIECE, flags), real(sendmsg)(fd, PIECES, flags))
SEND(send)
SEND(__send)

ADSM_REALS(sendto, recvfrom)

ADSM_SLOW ssize_t sendto_shared(int fd, const void *p, size_t size, int flags, const void *name, socklen_t length)
{
	struct iovec whole = { (void *)p, size };
	struct msghdr header = { (void *)name, length, &whole, 1, NULL, 0, 0 };

	adsm_io_look_back(ADSM_STACK());
	return one(fd, &header, flags, false);
}

/* An address that is too long stays with libc's sendto(), which refuses it; sendmsg() would truncate it. */
ADSM_WRAPPER ssize_t sendto(int fd, const void *p, size_t size, int flags, __CONST_SOCKADDR_ARG name, socklen_t length)
{
	if ((adsm_range_shared(p, size) || adsm_may_be_shared(name.__sockaddr__, 1)) &&
	    (!name.__sockaddr__ || length <= sizeof(struct sockaddr_storage)))
		return sendto_shared(fd, p, size, flags, name.__sockaddr__, length);
	return real(sendto)(fd, p, size, flags, name, length);
}

ADSM_SLOW ssize_t recvfrom_shared(int fd, void *p, size_t size, int flags, void *name, socklen_t *length)
{
	struct iovec whole = { p, size };
	struct msghdr header = { name, 0, &whole, 1, NULL, 0, 0 };
	ssize_t n;
	int error;

	adsm_io_look_back(ADSM_STACK());
	error = name ? adsm_range_take(&header.msg_namelen, length, sizeof(*length)) : 0;
	if (error == -EFAULT)
		return real(recvfrom)(fd, p, size, flags, name, length);
	if (error)
		return adsm_refuse(EIO);
	n = one(fd, &header, flags, true);
	error = name && n >= 0 ? adsm_range_give(length, &header.msg_namelen, sizeof(*length)) : 0;
	return error ? adsm_range_refuse(error) : n;
}

static inline bool shared_receive(const void *p, size_t size, const void *name, const void *length)
{
	/* The address's length may itself be in shared memory, and cannot be read yet. So one byte is tested. */
	return adsm_range_shared(p, size) || adsm_may_be_shared(name, 1) ||
		adsm_may_be_shared(length, sizeof(socklen_t));
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

/* ---- message queues and eventfd */

ADSM_REALS(msgsnd, msgrcv, mq_send, mq_timedsend, mq_receive, mq_timedreceive, eventfd_read)

ADSM_SLOW int msgsnd_shared(int queue, const void *message, size_t size, int flags)
{
	struct adsm_io io ADSM_CLEANUP(adsm_io_cleanup) = { 0 };
	struct iovec room[ADSM_IO_ROOM(1)];
	void *p = (void *)message;

	adsm_io_look_back(ADSM_STACK());
	if (adsm_range_begin(&io, &p, sizeof(long) + size, room, ADSM_OUTPUT))
		return adsm_refuse(EIO);
	return real(msgsnd)(queue, p, size, flags);
}

ADSM_WRAPPER int msgsnd(int queue, const void *message, size_t size, int flags)
{
	return adsm_range_shared(message, sizeof(long) + size) ? msgsnd_shared(queue, message, size, flags) :
		real(msgsnd)(queue, message, size, flags);
}

/* The result does not count the message's type, a long in front of the text. */
ADSM_SLOW ssize_t msgrcv_shared(int queue, void *message, size_t size, long type, int flags)
{
	struct adsm_io io ADSM_CLEANUP(adsm_io_cleanup) = { 0 };
	struct iovec room[ADSM_IO_ROOM(1)];
	ssize_t n;

	adsm_io_look_back(ADSM_STACK());
	if (adsm_range_begin(&io, &message, sizeof(long) + size, room, ADSM_INPUT))
		return adsm_refuse(EIO);
	n = real(msgrcv)(queue, message, size, type, flags);
	return adsm_range_end(&io, n < 0 ? n : n + (ssize_t)sizeof(long)) < 0 ? -1 : n;
}

ADSM_WRAPPER ssize_t msgrcv(int queue, void *message, size_t size, long type, int flags)
{
	return adsm_range_shared(message, sizeof(long) + size) ? msgrcv_shared(queue, message, size, type, flags) :
		real(msgrcv)(queue, message, size, type, flags);
}

ADSM_SLOW int mq_send_shared(mqd_t queue, const char *message, size_t size, unsigned priority,
			const struct timespec *until)
{
	struct adsm_io io ADSM_CLEANUP(adsm_io_cleanup) = { 0 };
	struct iovec room[ADSM_IO_ROOM(1)];
	void *p = (void *)message;
	struct timespec time;
	int error;

	adsm_io_look_back(ADSM_STACK());
	error = until ? adsm_range_take(&time, until, sizeof(time)) : 0;
	if (!error)
		error = adsm_range_begin(&io, &p, size, room, ADSM_OUTPUT);
	if (error)
		return adsm_range_refuse(error);
	return until ? real(mq_timedsend)(queue, p, size, priority, &time) : real(mq_send)(queue, p, size, priority);
}

ADSM_SLOW ssize_t mq_receive_shared(mqd_t queue, void *p, size_t size, unsigned *priority, const struct timespec *until)
{
	struct adsm_io io ADSM_CLEANUP(adsm_io_cleanup) = { 0 };
	struct iovec room[ADSM_IO_ROOM(1)];
	bool shared = adsm_may_be_shared(priority, sizeof(*priority));
	unsigned own, *to = shared ? &own : priority;
	struct timespec time;
	ssize_t n;
	int error;

	adsm_io_look_back(ADSM_STACK());
	error = until ? adsm_range_take(&time, until, sizeof(time)) : 0;
	if (!error)
		error = adsm_range_begin(&io, &p, size, room, ADSM_INPUT);
	if (error)
		return adsm_range_refuse(error);
	n = until ? real(mq_timedreceive)(queue, p, size, to, &time) : real(mq_receive)(queue, p, size, to);
	n = adsm_range_end(&io, n);
	error = n >= 0 && shared ? adsm_range_give(priority, &own, sizeof(own)) : 0;
	return error ? adsm_range_refuse(error) : n;
}

static inline bool shared_time(const struct timespec *time)
{
	return adsm_may_be_shared(time, sizeof(*time));
}

ADSM_WRAPPER int mq_send(mqd_t queue, const char *p, size_t size, unsigned priority)
{
	return adsm_range_shared(p, size) ? mq_send_shared(queue, p, size, priority, NULL) :
		real(mq_send)(queue, p, size, priority);
}

ADSM_WRAPPER int mq_timedsend(mqd_t queue, const char *p, size_t size, unsigned priority,
			      const struct timespec *until)
{
	return adsm_range_shared(p, size) || shared_time(until) ? mq_send_shared(queue, p, size, priority, until) :
		real(mq_timedsend)(queue, p, size, priority, until);
}

ADSM_WRAPPER ssize_t mq_receive(mqd_t queue, char *p, size_t size, unsigned *priority)
{
	return adsm_range_shared(p, size) || adsm_may_be_shared(priority, sizeof(*priority)) ?
		mq_receive_shared(queue, p, size, priority, NULL) : real(mq_receive)(queue, p, size, priority);
}

ADSM_WRAPPER ssize_t mq_timedreceive(mqd_t queue, char *restrict p, size_t size, unsigned *restrict priority,
				     const struct timespec *restrict until)
{
	return adsm_range_shared(p, size) || adsm_may_be_shared(priority, sizeof(*priority)) || shared_time(until) ?
		mq_receive_shared(queue, p, size, priority, until) :
		real(mq_timedreceive)(queue, p, size, priority, until);
}

ADSM_WRAPPER int eventfd_read(int fd, eventfd_t *value)
{
	eventfd_t own;
	int error;

	if (!adsm_may_be_shared(value, sizeof(*value)))
		return real(eventfd_read)(fd, value);
	adsm_io_look_back(ADSM_STACK());
	if (real(eventfd_read)(fd, &own))
		return -1;
	error = adsm_range_give(value, &own, sizeof(own));
	return error ? adsm_range_refuse(error) : 0;
}
