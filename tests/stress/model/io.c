/* SPDX-License-Identifier: MIT */
/* io.c - system calls and streams on shared memory, each held against what ordinary memory would have. */
#include "model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static _Thread_local unsigned char private_part[SPOT_MAX], private_shadow[SPOT_MAX];

/* A spot, or ordinary memory as one. */
static struct spot any_part(bool may_be_private)
{
	struct spot s;

	if (!may_be_private || draw(4))
		return any_spot(SPOT_MAX);
	s = (struct spot){ NULL, private_part, private_shadow, draw(SPOT_MAX) + 1 };
	make_bytes(private_shadow, s.size, draw_from(&me->state));
	memcpy(private_part, private_shadow, s.size);
	return s;
}

/* The parts of a vector, with their shadows' bytes in @expected. At most one is ordinary memory. */
static size_t draw_spots(const char *what, struct spot *spots, struct iovec *vector, int n)
{
	size_t total = 0;

	for (int i = 0; i < n; i++)
		spots[i] = any_part(i == 1);
	for (int i = 0; i < n; i++) {
		if (spots[i].object) {
			settle(spots[i].object);
			note(what, &spots[i], (unsigned)total);
		}
		vector[i] = (struct iovec){ spots[i].p, spots[i].size };
		memcpy(expected + total, spots[i].shadow, spots[i].size);
		total += spots[i].size;
	}
	return total;
}

/* @size bytes of @buffer have come into the spots. */
static void deliver(const struct spot *spots, size_t size)
{
	for (size_t done = 0, n; done < size; done += n, spots++) {
		n = spots->size < size - done ? spots->size : size - done;
		memcpy(spots->shadow, buffer + done, n);
	}
}

static void same_private(const struct spot *spots, int n)
{
	for (int i = 0; i < n; i++)
		if (!spots[i].object && memcmp(spots[i].p, spots[i].shadow, spots[i].size))
			FAIL("ordinary memory has other bytes than it should");
}

static ssize_t read_somehow(enum channel channel, size_t call, struct iovec *vector, int n, off_t at)
{
	struct msghdr message = { .msg_iov = vector, .msg_iovlen = (size_t)n };
	const int fd = me->in[channel];
	void *p = vector[0].iov_base;
	const size_t size = vector[0].iov_len;

	if (call == 0)
		return read(fd, p, size);
	if (call == 1)
		return readv(fd, vector, n);
	if (channel == CHANNEL_FILE)
		return call == 2 ? pread(fd, p, size, at) : preadv(fd, vector, n, at);
	return call == 2 ? recv(fd, p, size, 0) : recvmsg(fd, &message, 0);
}

static ssize_t write_somehow(enum channel channel, size_t call, struct iovec *vector, int n, off_t at)
{
	struct msghdr message = { .msg_iov = vector, .msg_iovlen = (size_t)n };
	const int fd = me->out[channel];
	const void *p = vector[0].iov_base;
	const size_t size = vector[0].iov_len;

	if (call == 0)
		return write(fd, p, size);
	if (call == 1)
		return writev(fd, vector, n);
	if (channel == CHANNEL_FILE)
		return call == 2 ? pwrite(fd, p, size, at) : pwritev(fd, vector, n, at);
	return call == 2 ? send(fd, p, size, 0) : sendmsg(fd, &message, 0);
}

static void input(const char *what, enum channel channel)
{
	struct spot spots[SPOTS];
	struct iovec vector[SPOTS];
	const size_t call = draw(channel == CHANNEL_PIPE ? 2 : 4);
	const int n = call % 2 ? (int)draw(SPOTS) + 1 : 1;
	const size_t total = draw_spots(what, spots, vector, n), sent = draw(2) ? total : draw(TOTAL_MAX) + 1;
	const size_t want = sent < total ? sent : total;
	const off_t at = (off_t)draw(100000);
	ssize_t got;

	make_bytes(buffer, sent, draw_from(&me->state));
	if (channel == CHANNEL_FILE) {
		CHECK_EQ(pwrite(me->in[channel], buffer, sent, at), sent);
		CHECK(!ftruncate(me->in[channel], at + (off_t)sent) && lseek(me->in[channel], at, SEEK_SET) == at);
	} else {
		CHECK_EQ(write(me->out[channel], buffer, sent), sent);
	}
	if (channel >= CHANNEL_STREAM && !draw(4)) {
		const size_t seen = sent < spots[0].size ? sent : spots[0].size;

		CHECK_EQ(recv(me->in[channel], spots[0].p, spots[0].size, MSG_PEEK), seen);
		deliver(spots, seen);
	}
	got = read_somehow(channel, call, vector, n, at);
	CHECK_EQ(got, want);
	deliver(spots, want);
	same_private(spots, n);
	/* The rest must not come next time. */
	if (channel == CHANNEL_PIPE || channel == CHANNEL_STREAM)
		for (size_t left = sent - want; left; left -= (size_t)got) {
			got = read(me->in[channel], expected, left);
			CHECK(got > 0);
		}
}

static void output(const char *what, enum channel channel)
{
	struct spot spots[SPOTS];
	struct iovec vector[SPOTS];
	const size_t call = draw(channel == CHANNEL_PIPE ? 2 : 4);
	const int n = call % 2 ? (int)draw(SPOTS) + 1 : 1;
	const size_t total = draw_spots(what, spots, vector, n);
	const off_t at = (off_t)draw(100000);
	size_t done = 0;

	CHECK(channel != CHANNEL_FILE || lseek(me->out[channel], at, SEEK_SET) == at);
	CHECK_EQ(write_somehow(channel, call, vector, n, at), total);
	while (done < total) {
		const ssize_t got = channel == CHANNEL_FILE ?
			pread(me->out[channel], buffer + done, total - done, at + (off_t)done) :
			read(me->in[channel], buffer + done, total - done);

		CHECK(got > 0);
		done += (size_t)got;
	}
	done = 0;
	for (int i = 0; i < n; done += spots[i++].size)
		if (spots[i].object)
			same(&spots[i], buffer + done, expected + done, spots[i].size);
		else
			CHECK(!memcmp(buffer + done, expected + done, spots[i].size));
}

void file_in(void) { input("file in", CHANNEL_FILE); }
void file_out(void) { output("file out", CHANNEL_FILE); }
void pipe_in(void) { input("pipe in", CHANNEL_PIPE); }
void pipe_out(void) { output("pipe out", CHANNEL_PIPE); }
void stream_in(void) { input("stream in", CHANNEL_STREAM); }
void stream_out(void) { output("stream out", CHANNEL_STREAM); }
void datagram_in(void) { input("datagram in", CHANNEL_DATAGRAM); }
void datagram_out(void) { output("datagram out", CHANNEL_DATAGRAM); }

void stdio_in(void)
{
	const struct spot s = any_spot(SPOT_MAX);
	const size_t sent = draw(2) ? s.size : draw(s.size);
	FILE *stream;

	note("fread", &s, (unsigned)sent);
	make_bytes(buffer, sent, draw_from(&me->state));
	CHECK_EQ(pwrite(me->out[CHANNEL_FILE], buffer, sent, 0), sent);
	CHECK(!ftruncate(me->out[CHANNEL_FILE], (off_t)sent));
	stream = fopen(me->path, "r");
	CHECK(stream);
	CHECK_EQ(fread(s.p, 1, s.size, stream), sent);
	CHECK_EQ(!!feof(stream), sent < s.size);
	CHECK(!fclose(stream));
	deliver(&s, sent);
}

void stdio_out(void)
{
	const struct spot s = any_spot(SPOT_MAX);
	FILE *stream = fopen(me->path, "w");

	note("fwrite", &s, 0);
	CHECK(stream);
	CHECK_EQ(fwrite(s.p, 1, s.size, stream), s.size);
	CHECK(!fclose(stream));
	CHECK_EQ(pread(me->in[CHANNEL_FILE], buffer, s.size, 0), s.size);
	same(&s, buffer, s.shadow, s.size);
}

/* Calls that fail or bring nothing, and change nothing. */
void refused(void)
{
	const struct spot s = any_spot(SPOT_MAX);
	const size_t how = draw(6);

	note("refused call", &s, (unsigned)how);
	errno = 0;
	switch (how) {
	case 0:
		CHECK(read(-1, s.p, s.size) == -1 && errno == EBADF);
		break;
	case 1:
		CHECK(recv(me->in[CHANNEL_STREAM], s.p, s.size, MSG_DONTWAIT) == -1 && errno == EAGAIN);
		break;
	case 2:
		CHECK(pread(me->in[CHANNEL_PIPE], s.p, s.size, 0) == -1 && errno == ESPIPE);
		break;
	case 3:
		CHECK(!ftruncate(me->in[CHANNEL_FILE], 5) && pread(me->in[CHANNEL_FILE], s.p, s.size, 5) == 0);
		break;
	case 4:
		CHECK(write(me->in[CHANNEL_PIPE], s.p, s.size) == -1 && errno == EBADF);
		break;
	case 5:
		CHECK(read(me->in[CHANNEL_FILE], s.p, 0) == 0 && write(me->out[CHANNEL_PIPE], s.p, 0) == 0);
		break;
	}
	look_at(&s);
}

/* These bytes were unknown before, so they are checked. */
void random_in(void)
{
	const struct spot s = any_spot(256);

	note("getrandom", &s, 0);
	CHECK_EQ(getrandom(s.p, s.size, 0), s.size);
	for (size_t i = 0; i < s.size; i++)
		s.shadow[i] = s.p[i];
}

/* A path in shared memory, and what the system says of it in shared memory too. */
void describe(void)
{
	const struct spot path = any_spot(SPOT_MAX), to = any_spot(SPOT_MAX);
	const size_t skip = -(uintptr_t)to.p % _Alignof(struct stat);
	struct stat info;
	int fd;

	if (path.size < sizeof(me->path) || to.size < skip + sizeof(info))
		return;
	settle(path.object);
	note("stat to", &to, 0);
	note("path in", &path, 0);
	memset(&info, 0, sizeof(info));
	CHECK(!fstat(me->out[CHANNEL_FILE], &info));
	memcpy(to.shadow + skip, &info, sizeof(info));
	CHECK(!fstat(me->out[CHANNEL_FILE], (struct stat *)(to.p + skip)));
	/* Last, as it may be in the same place. */
	memcpy(path.shadow, me->path, sizeof(me->path));
	memcpy(path.p, me->path, sizeof(me->path));
	fd = open((char *)path.p, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && !close(fd));
	CHECK(!access((char *)path.p, R_OK));
}

/* ---- bytes that come late, in parts */

/* More is asked for than comes. */
void read_late(const struct spot *s, size_t size, uint64_t from)
{
	ssize_t got;

	for (size_t done = 0; done < size; done += (size_t)got) {
		do
			got = read(me->in[CHANNEL_PIPE], s->p + done, s->size - done);
		while (got < 0 && errno == EINTR && round_is.interrupts);
		if (got <= 0)
			FAIL("read is %zd with %zu of %zu bytes", got, done, size);
	}
	make_bytes(s->shadow, size, from);
}

void late_in(void)
{
	const struct spot s = any_spot(SPOT_MAX);
	const struct request request = { me->out[CHANNEL_PIPE], draw(s.size) + 1, draw_from(&me->state), NULL, 0 };

	note("late input", &s, (unsigned)request.size);
	CHECK_EQ(write(requests[1], &request, sizeof(request)), sizeof(request));
	read_late(&s, request.size, request.seed);
}

void *feed(void *data)
{
	unsigned char bytes[SPOT_MAX];
	struct request request;
	uint64_t state = *(const uint64_t *)data;

	block_signals(true);
	while (read(requests[0], &request, sizeof(request)) == sizeof(request) && (request.size || request.leaves)) {
		if (request.leaves) {
			send_out(request.leaves, request.n_left);
			continue;
		}
		make_bytes(bytes, request.size, request.seed);
		for (size_t done = 0, n; done < request.size; done += n) {
			const struct timespec pause = { 0, (long)(draw_from(&state) % 200000) };

			nanosleep(&pause, NULL);
			n = draw_from(&state) % 3 ? draw_from(&state) % (request.size - done) + 1 : request.size - done;
			CHECK_EQ(write(request.fd, bytes + done, n), n);
		}
	}
	return NULL;
}

void open_channels(struct worker *worker)
{
	int pair[2];

	worker->in[CHANNEL_FILE] = worker->out[CHANNEL_FILE] = memfd_create("model", MFD_CLOEXEC);
	CHECK(worker->in[CHANNEL_FILE] >= 0);
	snprintf(worker->path, sizeof(worker->path), "/proc/self/fd/%d", worker->in[CHANNEL_FILE]);
	CHECK(!pipe2(pair, O_CLOEXEC));
	worker->in[CHANNEL_PIPE] = pair[0];
	worker->out[CHANNEL_PIPE] = pair[1];
	for (enum channel i = CHANNEL_STREAM; i <= CHANNEL_DATAGRAM; i++) {
		CHECK(!socketpair(AF_UNIX, (i == CHANNEL_STREAM ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0, pair));
		worker->in[i] = pair[0];
		worker->out[i] = pair[1];
	}
}

void close_channels(struct worker *worker)
{
	CHECK(!close(worker->in[CHANNEL_FILE]));
	for (enum channel i = CHANNEL_PIPE; i < CHANNELS; i++)
		CHECK(!close(worker->in[i]) && !close(worker->out[i]));
}
