/* SPDX-License-Identifier: MIT */
/* messages.c - vectors, datagrams, messages and queues, whose parts lie here and there. */
#include "ends.h"

#include <limits.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/msg.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* No byte is lost, whatever the state of its block. */
static void datagrams(void)
{
	struct ends ends, model;

	start();
	for (enum state state = 0; state < N_STATES; state++) {
		const int flags[] = { 0, MSG_PEEK, MSG_TRUNC, MSG_PEEK | MSG_TRUNC };

		for (size_t f = 0; f < 4; f++)
			for (size_t size = 0; size <= size_of_one; size += size_of_one / 3) {
				ssize_t n;

				now("%zu bytes of a datagram, flags %x, %s", size, flags[f], state_names[state]);
				prepare(state);
				ends = open_ends(PACKET_IN, block + 10);
				model = open_ends(PACKET_IN, block + 10);
				CHECK_EQ(send(ends.other, "next", 4, 0), 4);
				CHECK_EQ(send(model.other, "next", 4, 0), 4);
				n = recv(model.fd, plain + 33, size, flags[f]);
				SAME(recv(ends.fd, shared + 33, size, flags[f]), n);
				n = recv(model.fd, plain, 100, 0);
				SAME(recv(ends.fd, shared, 100, 0), n);
				same_ends(PACKET_IN, ends, model);
				close_ends(ends);
				close_ends(model);
				same_bytes(f & 1);
			}
	}
}

/* A stream's bytes may be thrown away instead: then nothing comes. */
static void discarded(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t length = sizeof(name);
	int listener = socket(AF_INET, SOCK_STREAM, 0), from, to, left;

	if (listener < 0 || bind(listener, (struct sockaddr *)&name, sizeof(name)) || listen(listener, 1))
		skip("no loopback network");
	CHECK(!getsockname(listener, (struct sockaddr *)&name, &length));
	to = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(to, (struct sockaddr *)&name, sizeof(name)))
		skip("no loopback network");
	from = accept(listener, NULL, NULL);
	CHECK(from >= 0);
	start();
	for (enum state state = 0; state < N_STATES; state++) {
		unsigned char sent[3000];

		now("%s", state_names[state]);
		prepare(state);
		memcpy(sent, plain, sizeof(sent));
		CHECK_EQ(send(to, sent, sizeof(sent), 0), sizeof(sent));
		do {
			CHECK(!ioctl(from, FIONREAD, &left));
		} while (left < (int)sizeof(sent));
		SAME(recv(from, shared + 100, 1000, MSG_TRUNC), 1000);
		same_bytes(state & 1);
		SAME(recv(from, shared + 5, 2000, 0), 2000);
		memcpy(plain + 5, sent + 1000, 2000);
		same_bytes(state & 1);
	}
}

/* ---- vectors and messages that mix memory */

static void mixed_vectors(void)
{
	unsigned char *mine, *theirs;
	struct iovec *array;

	start();
	mine = malloc(2 * block);
	theirs = malloc(2 * block);
	array = alloc(PAGE);
	CHECK(mine && theirs);
	for (enum state state = 0; state < N_STATES; state++)
		for (int in_shared = 0; in_shared < 2; in_shared++)
			for (int way = 0; way < 2; way++) {
				struct iovec model[] = {
					{ plain + 10, 20 }, { theirs, 50 }, { NULL, 0 },
					{ plain + block - 5, block + 10 },
					{ plain + size_of_one, 0 }, { plain + size_of_one - 20, 40 },
					{ theirs + block, block }, { plain + SIZE - 7, 7 },
				}, vector[8];
				struct ends ends, other;
				ssize_t n;

				now("%s, %s", state_names[state], way ? "out" : "in");
				prepare(state);
				for (size_t i = 0; i < 2 * block; i++)
					mine[i] = theirs[i] = (unsigned char)draw(&seed);
				for (int i = 0; i < 8; i++) {
					unsigned char *p = model[i].iov_base;

					vector[i] = model[i];
					if (p >= plain && p < plain + SIZE)
						vector[i].iov_base = shared + (p - plain);
					else if (p)
						vector[i].iov_base = mine + (p - theirs);
				}
				/* The array itself, where only the device has it. */
				for (size_t i = 0; i < sizeof(vector); i++)
					((volatile unsigned char *)array)[i] = (unsigned char)(((char *)vector)[i] - 1);
				CALL("increment_bytes", PAGE, adsmPtr(array), adsmVal((unsigned)PAGE));
				SETTLE();
				ends = open_ends(way ? FILE_OUT : FILE_IN, 3 * block);
				other = open_ends(way ? FILE_OUT : FILE_IN, 3 * block);
				n = way ? writev(other.fd, model, 8) : readv(other.fd, model, 8);
				SAME(way ? writev(ends.fd, in_shared ? array : vector, 8) :
				     readv(ends.fd, in_shared ? array : vector, 8), n);
				same_ends(way ? FILE_OUT : FILE_IN, ends, other);
				close_ends(ends);
				close_ends(other);
				SAME(memcmp(mine, theirs, 2 * block), 0);
				same_bytes(in_shared);
			}
	free(mine);
	free(theirs);
}

/* Longer than the system takes once it is split: some of it is transferred. */
static void long_vectors(void)
{
	static struct iovec vector[IOV_MAX];
	struct ends ends;

	start();
	prepare(INVALID);
	ends = open_ends(FILE_IN, 0);
	for (size_t i = 0; i < IOV_MAX; i++)
		vector[i] = (struct iovec){ shared + 2 * i, 1 };
	SAME(readv(ends.fd, vector, IOV_MAX), IOV_MAX);
	for (size_t i = 0; i < IOV_MAX; i++)
		plain[2 * i] = pattern[5 + i];
	same_bytes(false);
	now("one more, that cannot be transferred");
	CHECK_OK(adsmFree(shared + size_of_one));
	vector[IOV_MAX - 1] = (struct iovec){ shared + size_of_one - 100, 1000 };
	SAME(readv(ends.fd, vector, IOV_MAX), IOV_MAX - 1 + 100);
}

/* Everything of a message lies in shared memory. */
struct letter {
	struct mmsghdr headers[3];
	struct iovec vectors[3][2];
	struct sockaddr_un name[3];
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control[3];
	struct timespec time;
	socklen_t length;
	char text[3][2][100];
};

static void letter(struct letter *l, bool named)
{
	memset(l, 0, sizeof(*l));
	for (int i = 0; i < 3; i++) {
		struct msghdr *header = &l->headers[i].msg_hdr;

		for (int k = 0; k < 2; k++)
			l->vectors[i][k] = (struct iovec){ l->text[i][k], sizeof(l->text[i][k]) };
		header->msg_iov = l->vectors[i];
		header->msg_iovlen = 2;
		if (named) {
			header->msg_name = &l->name[i];
			header->msg_namelen = sizeof(l->name[i]);
		}
		header->msg_control = &l->control[i];
		header->msg_controllen = sizeof(l->control[i]);
	}
	l->time = (struct timespec){ 10, 0 };
	l->length = sizeof(l->name[0]);
}

/* It goes to the device and stays there: the bytes are what they were. */
static void post(struct letter *l)
{
	for (size_t i = 0; i < sizeof(*l); i++)
		((volatile unsigned char *)l)[i]--;
	CALL("increment_bytes", sizeof(*l), adsmPtr(l), adsmVal((unsigned)sizeof(*l)));
	SETTLE();
}

static void messages(void)
{
	struct letter *from = alloc(sizeof(*from)), *to = alloc(sizeof(*to));
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int sender = socket(AF_UNIX, SOCK_DGRAM, 0), receiver = socket(AF_UNIX, SOCK_DGRAM, 0), fds[3];
	int inet = socket(AF_INET, SOCK_DGRAM, 0);
	struct { struct sockaddr_in name; char more[200]; } here = {
		{ .sin_family = AF_INET, .sin_port = 9, .sin_addr = { htonl(INADDR_LOOPBACK) } }, "",
	};
	socklen_t length = sizeof(name);

	CHECK(sender >= 0 && receiver >= 0);
	CHECK(!bind(sender, (struct sockaddr *)&name, sizeof(sa_family_t)));
	CHECK(!bind(receiver, (struct sockaddr *)&name, sizeof(sa_family_t)));
	CHECK(!getsockname(receiver, (struct sockaddr *)&name, &length));
	for (int round = 0; round < 2; round++) {
		letter(from, true);
		for (int i = 0; i < 3; i++) {
			int fd = memfd_create("sent", MFD_CLOEXEC);

			CHECK_EQ(ftruncate(fd, 1000 + i), 0);
			from->name[i] = name;
			from->headers[i].msg_hdr.msg_namelen = length;
			from->control[i].header = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
			memcpy(CMSG_DATA(&from->control[i].header), &fd, sizeof(fd));
			for (int k = 0; k < 2; k++)
				memset(from->text[i][k], 10 * i + k + 1, sizeof(from->text[i][k]));
		}
		post(from);
		letter(to, true);
		post(to);
		if (round) {
			for (int i = 0; i < 3; i++) {
				CHECK_EQ(sendmsg(sender, &from->headers[i].msg_hdr, 0), 200);
				post(from);
			}
			for (int i = 0; i < 3; i++) {
				CHECK_EQ(recvmsg(receiver, &to->headers[i].msg_hdr, 0), 200);
				CHECK_EQ(to->headers[i].msg_hdr.msg_flags, 0);
				post(to);
			}
		} else {
			CHECK_EQ(sendmmsg(sender, from->headers, 3, 0), 3);
			CHECK_EQ(recvmmsg(receiver, to->headers, 3, 0, &to->time), 3);
			CHECK(to->time.tv_sec < 10);
			post(to);
		}
		for (int i = 0; i < 3; i++) {
			struct msghdr *header = &to->headers[i].msg_hdr;
			struct cmsghdr *control = CMSG_FIRSTHDR(header);

			CHECK_EQ(round ? 200 : to->headers[i].msg_len, 200);
			CHECK_EQ(round ? 200 : from->headers[i].msg_len, 200);
			CHECK(header->msg_namelen > sizeof(sa_family_t) && header->msg_namelen < sizeof(name));
			CHECK_EQ(to->name[i].sun_family, AF_UNIX);
			CHECK_EQ(to->name[i].sun_path[0], 0);
			CHECK(to->name[i].sun_path[1]);
			CHECK(control && control->cmsg_type == SCM_RIGHTS);
			memcpy(&fds[i], CMSG_DATA(control), sizeof(int));
			for (size_t b = CMSG_LEN(sizeof(int)); b < sizeof(to->control[i]); b++)
				CHECK_AT(to->control[i].bytes[b], b, 0);
			CHECK_EQ(lseek(fds[i], 0, SEEK_END), 1000 + i);
			for (int k = 0; k < 2; k++)
				for (size_t b = 0; b < sizeof(to->text[i][k]); b++)
					CHECK_AT(to->text[i][k][b], b, 10 * i + k + 1);
		}
	}
	/* The same of one buffer. */
	letter(from, true);
	from->name[0] = name;
	memset(from->text, 7, sizeof(from->text));
	post(from);
	letter(to, true);
	post(to);
	CHECK_EQ(sendto(sender, from->text, 150, 0, (struct sockaddr *)&from->name[0], length), 150);
	post(from);
	CHECK_EQ(sendto(sender, from->text, 0, 0, (struct sockaddr *)&from->name[0], length), 0);
	errno = 0;
	CHECK_EQ(sendto(sender, from->text, 1, 0, (struct sockaddr *)&from->name[0], 200), -1);
	CHECK_EQ(errno, EINVAL);
	errno = 0;
	CHECK_EQ(sendto(inet, from->text, 1, 0, (struct sockaddr *)&here, 200), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(recvfrom(receiver, to->text, 100, MSG_TRUNC, (struct sockaddr *)&to->name[1], &to->length), 150);
	CHECK(to->length > sizeof(sa_family_t) && to->length < sizeof(name));
	CHECK_EQ(to->name[1].sun_family, AF_UNIX);
	for (size_t b = 0; b < 200; b++)
		CHECK_AT((&to->text[0][0][0])[b], b, b < 100 ? 7 : 0);
	post(to);
	CHECK_EQ(recvfrom(receiver, to->text, 100, 0, (struct sockaddr *)&to->name[2], &to->length), 0);
	CHECK_EQ(to->name[2].sun_family, AF_UNIX);
}

#define MANY 100

/* Messages of 50 bytes. */
static struct mmsghdr *letters(unsigned char *p)
{
	static struct mmsghdr headers[MANY];
	static struct iovec vectors[MANY];

	for (int i = 0; i < MANY; i++) {
		vectors[i] = (struct iovec){ p + 70 * i, 50 };
		headers[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &vectors[i], .msg_iovlen = 1 } };
	}
	return headers;
}

static void many_messages(void)
{
	struct sockaddr_un nobody = { AF_UNIX, "nobody/nowhere" };

	start();
	for (enum state state = 0; state < N_STATES; state++) {
		struct ends ends = sockets(SOCK_DGRAM);
		struct mmsghdr *headers;

		now("many, %s", state_names[state]);
		prepare(state);
		errno = 0;
		SAME(sendmmsg(ends.fd, letters(shared), MANY, 0), MANY);
		headers = letters(shared + size_of_one);
		SAME(recvmmsg(ends.other, headers, MANY, 0, NULL), MANY);
		for (int i = 0; i < MANY; i++) {
			CHECK_AT(headers[i].msg_len, i, 50);
			memcpy(plain + size_of_one + 70 * i, plain + 70 * i, 50);
		}
		now("less, %s", state_names[state]);
		headers = letters(shared);
		headers[64].msg_hdr.msg_name = &nobody;
		headers[64].msg_hdr.msg_namelen = sizeof(nobody);
		SAME(sendmmsg(ends.fd, headers, MANY, 0), 64);
		SAME(recvmmsg(ends.other, letters(shared + size_of_one), MANY, MSG_WAITFORONE, NULL), 64);
		SAME(errno, 0);
		SAME(recvmmsg(ends.other, letters(shared), MANY, MSG_DONTWAIT, NULL), -1);
		SAME(errno, EAGAIN);
		close_ends(ends);
		same_bytes(state & 1);
	}
}

/* What control messages leave unwritten, between and behind them, is as it was. */
static void control(void)
{
	start();
	for (enum state state = 0; state < N_STATES; state++) {
		unsigned char *to[] = { plain + 16, shared + 16 };

		now("%s", state_names[state]);
		prepare(state);
		for (int i = 0; i < 2; i++) {
			union {
				struct cmsghdr header;
				char bytes[CMSG_SPACE(sizeof(int))];
			} passed = { { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
			struct iovec vector = { doing, 10 };
			struct msghdr header = { .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &passed,
				.msg_controllen = sizeof(passed) };
			struct ends ends = sockets(SOCK_DGRAM);

			CHECK_EQ(sendmsg(ends.other, &header, 0), 10);
			header.msg_control = to[i];
			header.msg_controllen = 100;
			SAME(recvmsg(ends.fd, &header, 0), 10);
			SAME(header.msg_controllen, sizeof(passed));
			close_ends(ends);
		}
		/* The descriptors differ. */
		memcpy(CMSG_DATA((struct cmsghdr *)to[0]), CMSG_DATA((struct cmsghdr *)to[1]), sizeof(int));
		same_bytes(state & 1);
	}
}

#define LETTER 3000

/* Messages of one size, priorities and types in shared memory. */
static void queues(void)
{
	char name[40];
	struct mq_attr attr = { .mq_maxmsg = 2, .mq_msgsize = LETTER };
	int events = eventfd(0, EFD_CLOEXEC), system = msgget(IPC_PRIVATE, 0600);
	mqd_t posix;
	struct { long type; char text[LETTER]; } *letter;
	struct timespec *soon, until;

	snprintf(name, sizeof(name), "/io-%d", (int)getpid());
	posix = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	if (posix >= 0)
		CHECK(!mq_unlink(name));
	start();
	CHECK(events >= 0 && !clock_gettime(CLOCK_REALTIME, &until));
	until.tv_sec += 30;
	for (int round = 0; round < N_STATES * 2; round++) {
		unsigned priority;

		now("round %d", round);
		prepare((enum state)(round / 2));
		*(eventfd_t *)(plain + SIZE - 104) = 77;
		CHECK(!eventfd_write(events, 77));
		SAME(eventfd_read(events, (eventfd_t *)(shared + SIZE - 104)), 0);
		if (posix >= 0) {
			SAME(mq_send(posix, (char *)shared + 50, LETTER, 9), 0);
			CHECK_EQ(mq_receive(posix, (char *)got, 10, NULL), -1);
			SAME(mq_receive(posix, (char *)shared + block - 50, LETTER, (unsigned *)(shared + 8)), LETTER);
			memcpy(plain + block - 50, plain + 50, LETTER);
			memcpy(plain + 8, &(unsigned){ 9 }, 4);
			soon = (struct timespec *)(shared + size_of_one);
			*soon = *(struct timespec *)(plain + size_of_one) = until;
			SAME(mq_timedsend(posix, (char *)plain, 100, 3, soon), 0);
			SAME(mq_timedreceive(posix, (char *)shared + 5, LETTER, &priority, soon), 100);
			SAME(priority, 3);
			memmove(plain + 5, plain, 100);
			SAME(mq_send(posix, (char *)plain, 100, 3), 0);
			errno = 0;
			SAME(mq_receive(posix, (char *)shared + 5, LETTER, (unsigned *)8), -1);
			SAME(errno, EFAULT);
		}
		if (system >= 0) {
			letter = (void *)(shared + size_of_one + 80);
			letter->type = *(long *)(plain + size_of_one + 80) = 0;
			on_device();
			SAME(msgsnd(system, letter, LETTER, 0), 0);
			SAME(msgrcv(system, shared + 80, LETTER, 0, 0), LETTER);
			memcpy(plain + 80, plain + size_of_one + 80, sizeof(long) + LETTER);
		}
		same_bytes(round & 1);
	}
	if (system >= 0)
		CHECK(!msgctl(system, IPC_RMID, NULL));
}

static const struct conform_case cases[] = {
	CASE("datagrams", datagrams),
	CASE("discarded", discarded),
	CASE("mixed-vectors", mixed_vectors),
	CASE("long-vectors", long_vectors),
	CASE("messages", messages),
	CASE("many-messages", many_messages),
	CASE("control", control),
	CASE("queues", queues),
};
CONFORM_MAIN(cases)
