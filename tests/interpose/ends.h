/* SPDX-License-Identifier: MIT */
/*
 * ends.h - what tests of system calls work with: both memories with the same bytes, ours in one state, and what a call
 * reads from or writes to.
 */
#ifndef INTERPOSE_ENDS_H
#define INTERPOSE_ENDS_H

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "conform.h"
#include "pair.h"

static uint64_t seed = 1;

static inline void increment(unsigned char *p)
{
	CALL("increment_bytes", size_of_one, adsmPtr(p), adsmVal((unsigned)size_of_one));
}

/* Let the device write all of both. */
static inline void on_device(void)
{
	increment(shared);
	increment(shared + size_of_one);
	for (size_t i = 0; i < SIZE; i++)
		plain[i]++;
	SETTLE();
}

static inline void on_cpu(void)
{
	for (size_t at = 0; at < SIZE; at += PAGE)
		(void)*(volatile unsigned char *)(shared + at);
}

enum state { DIRTY, INVALID, READ_ONLY, N_STATES };
static const char *const state_names[] = { "dirty", "invalid", "read-only" };

/* New bytes in both, ours in one state. */
static inline void prepare(enum state state)
{
	volatile uint64_t *to = (uint64_t *)shared;
	uint64_t *model = (uint64_t *)plain;

	for (size_t i = 0; i < SIZE / 8; i++)
		to[i] = model[i] = draw(&seed);
	if (state != DIRTY)
		on_device();
	if (state == READ_ONLY)
		on_cpu();
}

static inline void same_on_cpu(void)
{
	for (size_t i = 0; i < SIZE; i++)
		if (shared[i] != plain[i])
			FAIL("%s: byte %zu is %u, not %u", doing, i, shared[i], plain[i]);
}

/* The bytes are the same for the CPU and for the device, whichever reads first. */
static inline void same_bytes(bool device_first)
{
	if (!device_first)
		same_on_cpu();
	on_device();
	same_on_cpu();
}

/* Neither a transfer nor a change of state since @before. */
struct still {
	adsmStats stats;
	adsmObjectProps one, other;
};

static inline struct still still(void)
{
	return (struct still){ stats(), info(shared), info(shared + size_of_one) };
}

static inline void nothing_since(struct still before)
{
	struct still after = still();

	SAME(after.stats.h2d_bytes, before.stats.h2d_bytes);
	SAME(after.stats.d2h_bytes, before.stats.d2h_bytes);
	SAME(after.stats.signals, before.stats.signals);
	SAME(after.one.n_invalid, before.one.n_invalid);
	SAME(after.one.n_dirty, before.one.n_dirty);
	SAME(after.other.n_invalid, before.other.n_invalid);
	SAME(after.other.n_dirty, before.other.n_dirty);
}

/* ---- what a call reads from or writes to */

enum kind { FILE_IN, FILE_OUT, PIPE_IN, PIPE_OUT, STREAM_IN, STREAM_OUT, PACKET_IN, PACKET_OUT, FOLDER, NOTHING };

struct ends {
	int fd, other;
};

static unsigned char *pattern, *got[2];
#define PATTERN_SIZE (SIZE + 1000)

static inline int memory_file(size_t size)
{
	int fd = memfd_create("io", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, pattern, size), size);
	CHECK_EQ(lseek(fd, 5, SEEK_SET), 5);
	return fd;
}

static inline struct ends sockets(int type)
{
	int fds[2], size = 1 << 20;

	CHECK(!socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds));
	for (int i = 0; i < 2; i++)
		CHECK(!setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)));
	return (struct ends){ fds[0], fds[1] };
}

/* For a call that transfers @size bytes. */
static inline struct ends open_ends(enum kind kind, size_t size)
{
	struct ends ends = { -1, -1 };
	int fds[2];

	if (!pattern) {
		pattern = malloc(PATTERN_SIZE);
		for (int i = 0; i < 2; i++)
			got[i] = malloc(PATTERN_SIZE);
		CHECK(pattern && got[0] && got[1]);
		for (size_t i = 0; i < PATTERN_SIZE; i++)
			pattern[i] = (unsigned char)draw(&seed);
	}
	switch (kind) {
	case FILE_IN:
		ends.fd = memory_file(PATTERN_SIZE);
		break;
	case FILE_OUT:
		ends.fd = memory_file(size + 50);
		break;
	case PIPE_IN:
	case PIPE_OUT:
		CHECK(!pipe2(fds, O_CLOEXEC));
		CHECK(fcntl(fds[0], F_SETPIPE_SZ, 1 << 20) >= 1 << 20);
		ends = kind == PIPE_IN ? (struct ends){ fds[0], fds[1] } : (struct ends){ fds[1], fds[0] };
		if (kind == PIPE_IN)
			CHECK_EQ(write(ends.other, pattern, size + 10), size + 10);
		break;
	case STREAM_IN:
	case STREAM_OUT:
		ends = sockets(SOCK_STREAM);
		if (kind == STREAM_IN)
			CHECK_EQ(write(ends.other, pattern, size + 10), size + 10);
		break;
	case PACKET_IN:
	case PACKET_OUT:
		ends = sockets(SOCK_DGRAM);
		if (kind == PACKET_IN)
			CHECK_EQ(send(ends.other, pattern, size, 0), size);
		break;
	case FOLDER:
		ends.fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		CHECK(ends.fd >= 0);
		break;
	case NOTHING:
		break;
	}
	return ends;
}

static inline void close_ends(struct ends ends)
{
	if (ends.fd >= 0)
		close(ends.fd);
	if (ends.other >= 0)
		close(ends.other);
}

/* What came out at the other end, or what is left at this one. */
static inline void same_file(int fd, int model)
{
	ssize_t size = lseek(model, 0, SEEK_END);

	SAME(lseek(fd, 0, SEEK_END), size);
	CHECK_EQ(pread(fd, got[0], PATTERN_SIZE, 0), size);
	CHECK_EQ(pread(model, got[1], PATTERN_SIZE, 0), size);
	SAME(memcmp(got[0], got[1], (size_t)size), 0);
}

static inline void same_ends(enum kind kind, struct ends ends, struct ends model)
{
	int left, want;
	ssize_t n;

	switch (kind) {
	case FILE_IN:
	case FILE_OUT:
		SAME(lseek(ends.fd, 0, SEEK_CUR), lseek(model.fd, 0, SEEK_CUR));
		same_file(ends.fd, model.fd);
		break;
	case PIPE_IN:
	case STREAM_IN:
	case PACKET_IN:
		CHECK(!ioctl(ends.fd, FIONREAD, &left) && !ioctl(model.fd, FIONREAD, &want));
		SAME(left, want);
		break;
	case PIPE_OUT:
	case STREAM_OUT:
	case PACKET_OUT:
		CHECK(!fcntl(ends.other, F_SETFL, O_NONBLOCK) && !fcntl(model.other, F_SETFL, O_NONBLOCK));
		do {
			n = read(model.other, got[1], PATTERN_SIZE);
			SAME(read(ends.other, got[0], PATTERN_SIZE), n);
			SAME(n > 0 ? memcmp(got[0], got[1], (size_t)n) : 0, 0);
		} while (n > 0 || (n == 0 && kind == PACKET_OUT));
		break;
	case FOLDER:
	case NOTHING:
		break;
	}
}

/* A range as three, one of them empty. */
static inline struct iovec *three(unsigned char *p, size_t size)
{
	static struct iovec vector[3];

	vector[0] = (struct iovec){ p, size / 3 };
	vector[1] = (struct iovec){ p + size / 3, 0 };
	vector[2] = (struct iovec){ p + size / 3, size - size / 3 };
	return vector;
}

#endif
