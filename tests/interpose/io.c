/* SPDX-License-Identifier: MIT */
/* io.c - system calls that read and write bulk memory, each held against the same call on ordinary memory. */
#undef _FILE_OFFSET_BITS	/* pread() and pread64() are two names here */
#include "conform.h"
#include "pair.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

ssize_t __read(int fd, void *p, size_t size);
ssize_t __write(int fd, const void *p, size_t size);
ssize_t __pread64(int fd, void *p, size_t size, off64_t at);
ssize_t __pwrite64(int fd, const void *p, size_t size, off64_t at);
ssize_t __send(int fd, const void *p, size_t size, int flags);
ssize_t __read_chk(int fd, void *p, size_t size, size_t most);
ssize_t __pread_chk(int fd, void *p, size_t size, off64_t at, size_t most);
ssize_t __pread64_chk(int fd, void *p, size_t size, off64_t at, size_t most);
ssize_t __recv_chk(int fd, void *p, size_t size, size_t most, int flags);
ssize_t __recvfrom_chk(int fd, void *p, size_t size, size_t most, int flags, struct sockaddr *name,
		       socklen_t *length);

static uint64_t seed = 1;

static void increment(unsigned char *p)
{
	CALL("increment_bytes", size_of_one, adsmPtr(p), adsmVal((unsigned)size_of_one));
}

/* Let the device write all of both. */
static void on_device(void)
{
	increment(shared);
	increment(shared + size_of_one);
	for (size_t i = 0; i < SIZE; i++)
		plain[i]++;
	SETTLE();
}

static void on_cpu(void)
{
	for (size_t at = 0; at < SIZE; at += PAGE)
		(void)*(volatile unsigned char *)(shared + at);
}

enum state { DIRTY, INVALID, READ_ONLY, N_STATES };
static const char *const state_names[] = { "dirty", "invalid", "read-only" };

/* New bytes in both, ours in one state. */
static void prepare(enum state state)
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

static void same_on_cpu(void)
{
	for (size_t i = 0; i < SIZE; i++)
		if (shared[i] != plain[i])
			FAIL("%s: byte %zu is %u, not %u", doing, i, shared[i], plain[i]);
}

/* The bytes are the same for the CPU and for the device, whoever looks first. */
static void same_bytes(bool device_first)
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

static struct still still(void)
{
	return (struct still){ stats(), info(shared), info(shared + size_of_one) };
}

static void nothing_since(struct still before)
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

static int memory_file(size_t size)
{
	int fd = memfd_create("io", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, pattern, size), size);
	CHECK_EQ(lseek(fd, 5, SEEK_SET), 5);
	return fd;
}

static struct ends sockets(int type)
{
	int fds[2], size = 1 << 20;

	CHECK(!socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds));
	for (int i = 0; i < 2; i++)
		CHECK(!setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)));
	return (struct ends){ fds[0], fds[1] };
}

/* For a call that transfers @size bytes. */
static struct ends open_ends(enum kind kind, size_t size)
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

static void close_ends(struct ends ends)
{
	if (ends.fd >= 0)
		close(ends.fd);
	if (ends.other >= 0)
		close(ends.other);
}

/* What came out at the other end, or what is left at this one. */
static void same_file(int fd, int model)
{
	ssize_t size = lseek(model, 0, SEEK_END);

	SAME(lseek(fd, 0, SEEK_END), size);
	CHECK_EQ(pread(fd, got[0], PATTERN_SIZE, 0), size);
	CHECK_EQ(pread(model, got[1], PATTERN_SIZE, 0), size);
	SAME(memcmp(got[0], got[1], (size_t)size), 0);
}

static void same_ends(enum kind kind, struct ends ends, struct ends model)
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

/* Slow, and what it finds it finds with few columns. */
#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif

/* ---- rows: the functions; columns: where the buffer is, and in what state */

struct row {
	const char *name;
	enum kind kind;
	ssize_t (*run)(int fd, unsigned char *p, size_t size);
};

/* A range as three, one of them empty. */
static struct iovec *three(unsigned char *p, size_t size)
{
	static struct iovec vector[3];

	vector[0] = (struct iovec){ p, size / 3 };
	vector[1] = (struct iovec){ p + size / 3, 0 };
	vector[2] = (struct iovec){ p + size / 3, size - size / 3 };
	return vector;
}

static struct mmsghdr *message(unsigned char *p, size_t size)
{
	static struct mmsghdr header;

	header = (struct mmsghdr){ .msg_hdr = { .msg_iov = three(p, size), .msg_iovlen = 3 } };
	return &header;
}

/* How many bytes, if it was one message. */
static ssize_t length_of(int n, const struct mmsghdr *header)
{
	return n == 1 ? (ssize_t)header->msg_len : n;
}

static ssize_t receive_many(int fd, unsigned char *p, size_t size)
{
	struct mmsghdr *one = message(p, size);

	return length_of(recvmmsg(fd, one, 1, 0, NULL), one);
}

static ssize_t send_many(int fd, unsigned char *p, size_t size)
{
	struct mmsghdr *one = message(p, size);

	return length_of(sendmmsg(fd, one, 1, 0), one);
}

static ssize_t receive_named(int fd, unsigned char *p, size_t size, bool checked)
{
	struct sockaddr_un name;
	socklen_t length = sizeof(name);
	ssize_t n = checked ? __recvfrom_chk(fd, p, size, size, 0, (struct sockaddr *)&name, &length) :
		recvfrom(fd, p, size, 0, (struct sockaddr *)&name, &length);

	SAME(length, n < 0 ? sizeof(name) : 0);		/* the other end has no name */
	return n;
}

/* There always is a wrapper, though not every libc has the function. */
static ssize_t draw_random(unsigned char *p, size_t size)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	void (*function)(void *, size_t) = (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "arc4random_buf");

	if (!libc || !dlsym(libc, "arc4random_buf"))
		return -1;
	function(p, size);
	return (ssize_t)size;
}

#define FILES(X) \
	X(read, FILE_IN, read(fd, p, size)) \
	X(__read, FILE_IN, __read(fd, p, size)) \
	X(__read_chk, FILE_IN, __read_chk(fd, p, size, size)) \
	X(write, FILE_OUT, write(fd, p, size)) \
	X(__write, FILE_OUT, __write(fd, p, size)) \
	X(pread, FILE_IN, pread(fd, p, size, 7)) \
	X(pread64, FILE_IN, pread64(fd, p, size, 7)) \
	X(__pread64, FILE_IN, __pread64(fd, p, size, 7)) \
	X(__pread_chk, FILE_IN, __pread_chk(fd, p, size, 7, size)) \
	X(__pread64_chk, FILE_IN, __pread64_chk(fd, p, size, 7, size)) \
	X(pwrite, FILE_OUT, pwrite(fd, p, size, 7)) \
	X(pwrite64, FILE_OUT, pwrite64(fd, p, size, 7)) \
	X(__pwrite64, FILE_OUT, __pwrite64(fd, p, size, 7))

#define VECTORS(X) \
	X(readv, FILE_IN, readv(fd, three(p, size), 3)) \
	X(preadv, FILE_IN, preadv(fd, three(p, size), 3, 7)) \
	X(preadv64, FILE_IN, preadv64(fd, three(p, size), 3, 7)) \
	X(preadv2, FILE_IN, preadv2(fd, three(p, size), 3, 7, 0)) \
	X(preadv64v2, FILE_IN, preadv64v2(fd, three(p, size), 3, -1, 0)) \
	X(writev, FILE_OUT, writev(fd, three(p, size), 3)) \
	X(pwritev, FILE_OUT, pwritev(fd, three(p, size), 3, 7)) \
	X(pwritev64, FILE_OUT, pwritev64(fd, three(p, size), 3, 7)) \
	X(pwritev2, FILE_OUT, pwritev2(fd, three(p, size), 3, -1, 0)) \
	X(pwritev64v2, FILE_OUT, pwritev64v2(fd, three(p, size), 3, 7, 0)) \
	X(vmsplice_in, PIPE_IN, vmsplice(fd, three(p, size), 3, 0)) \
	X(vmsplice_out, PIPE_OUT, vmsplice(fd, three(p, size), 3, 0))

#define STREAMS(X) \
	X(read_pipe, PIPE_IN, read(fd, p, size)) \
	X(write_pipe, PIPE_OUT, write(fd, p, size)) \
	X(readv_stream, STREAM_IN, readv(fd, three(p, size), 3)) \
	X(recv, STREAM_IN, recv(fd, p, size, 0)) \
	X(recv_peek, STREAM_IN, recv(fd, p, size, MSG_PEEK)) \
	X(recv_all, STREAM_IN, recv(fd, p, size, MSG_WAITALL)) \
	X(recv_truncated, STREAM_IN, recv(fd, p, size, MSG_TRUNC)) \
	X(__recv_chk, STREAM_IN, __recv_chk(fd, p, size, size, 0)) \
	X(recvfrom, STREAM_IN, recvfrom(fd, p, size, 0, NULL, NULL)) \
	X(recvmsg, STREAM_IN, recvmsg(fd, &message(p, size)->msg_hdr, 0)) \
	X(send, STREAM_OUT, send(fd, p, size, 0)) \
	X(__send, STREAM_OUT, __send(fd, p, size, 0)) \
	X(sendto, STREAM_OUT, sendto(fd, p, size, 0, NULL, 0)) \
	X(sendmsg, STREAM_OUT, sendmsg(fd, &message(p, size)->msg_hdr, 0))

#define PACKETS(X) \
	X(read_packet, PACKET_IN, read(fd, p, size)) \
	X(recv_packet, PACKET_IN, recv(fd, p, size, 0)) \
	X(recv_packet_short, PACKET_IN, recv(fd, p, size / 2, MSG_TRUNC)) \
	X(recvfrom_named, PACKET_IN, receive_named(fd, p, size, false)) \
	X(__recvfrom_chk, PACKET_IN, receive_named(fd, p, size, true)) \
	X(recvmsg_packet, PACKET_IN, recvmsg(fd, &message(p, size)->msg_hdr, 0)) \
	X(recvmmsg, PACKET_IN, receive_many(fd, p, size)) \
	X(write_packet, PACKET_OUT, write(fd, p, size)) \
	X(send_packet, PACKET_OUT, send(fd, p, size, 0)) \
	X(sendto_packet, PACKET_OUT, sendto(fd, p, size, 0, NULL, 0)) \
	X(sendmsg_packet, PACKET_OUT, sendmsg(fd, &message(p, size)->msg_hdr, 0)) \
	X(sendmmsg, PACKET_OUT, send_many(fd, p, size))

#define SOURCES(X) \
	X(getdents64, FOLDER, getdents64(fd, p, size)) \
	X(getrandom, NOTHING, getrandom(p, size, 0)) \
	X(getentropy, NOTHING, getentropy(p, size)) \
	X(arc4random_buf, NOTHING, draw_random(p, size))

#define RUN(name, kind, call) \
	static ssize_t run_##name(int fd, unsigned char *p, size_t size) \
	{ \
		return call; \
	}
#define ROW(name, kind, call) { #name, kind, run_##name },
#define TABLE(table, rows) \
	rows(RUN) \
	static const struct row table[] = { rows(ROW) { 0 } };

TABLE(files, FILES)
TABLE(vectors, VECTORS)
TABLE(streams, STREAMS)
TABLE(packets, PACKETS)
TABLE(sources, SOURCES)

/* One call on the range and on its model. */
static void compare(const struct row *row, size_t at, size_t size)
{
	struct ends ends = open_ends(row->kind, size), model = open_ends(row->kind, size);
	ssize_t n, want;
	int error;

	errno = 0;
	want = row->run(model.fd, row->kind == NOTHING ? got[0] : plain + at, size);
	error = errno;
	errno = 0;
	n = row->run(ends.fd, shared + at, size);
	SAME(errno, error);
	SAME(n, want);
	/* No two results are the same. */
	if (row->kind == NOTHING && n >= 0) {
		SAME(n >= 16 && !memcmp(shared + at, plain + at, (size_t)n), 0);
		for (size_t i = at; i < at + size; i++)
			plain[i] = shared[i];
	}
	same_ends(row->kind, ends, model);
	close_ends(ends);
	close_ends(model);
}

static void run_rows(const struct row *row)
{
	start();

	const struct { size_t at, size; } columns[] = {
#ifdef THREAD_SANITIZER
		{ 0, 1 },
		{ 0, block },
		{ 100, block + 1 },
#else
		{ 0, 0 },
		{ 0, 1 },
		{ 0, block - 1 },
		{ 0, block },
		{ 0, block + 1 },
		{ 100, 1 },
		{ 100, block },
		{ block, block },
		{ block - 1, block + 2 },
		{ 2 * block - 100, size_of_one - (2 * block - 100) },
		{ 0, size_of_one },
		{ size_of_one - block - 50, block + 100 },
		{ size_of_one - 1, 2 },
#endif
	};

	for (; row->name; row++)
		for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++)
			for (enum state state = 0; state < N_STATES; state++) {
				now("%s of %zu bytes at %zu, %s", row->name, columns[c].size, columns[c].at,
				    state_names[state]);
				prepare(state);
				compare(row, columns[c].at, columns[c].size);
				same_bytes((c + state) % 2);
			}
}

static void rows_files(void)
{
	run_rows(files);
}

static void rows_vectors(void)
{
	run_rows(vectors);
}

static void rows_streams(void)
{
	run_rows(streams);
}

static void rows_packets(void)
{
	run_rows(packets);
}

static void rows_sources(void)
{
	run_rows(sources);
}

/* ---- less than was asked for */

static void short_file(void)
{
	start();
	for (enum state state = 0; state < N_STATES; state++)
		for (size_t has = 1; has < 3 * block; has += block / 2 + 1) {
			struct ends ends, model;

			now("%zu bytes are there, %s", has, state_names[state]);
			prepare(state);
			ends = open_ends(PIPE_IN, has - 1);
			model = open_ends(PIPE_IN, has - 1);
			CHECK_EQ(read(model.fd, plain + 100, SIZE - 100), has + 9);
			SAME(read(ends.fd, shared + 100, SIZE - 100), has + 9);
			close_ends(ends);
			close_ends(model);
			same_bytes(has & 1);
		}
}

static void eof(void)
{
	start();
	for (enum state state = 0; state < N_STATES; state++) {
		struct ends ends = open_ends(FILE_IN, 0);
		struct still before;

		now("%s", state_names[state]);
		CHECK_EQ(lseek(ends.fd, 0, SEEK_END), PATTERN_SIZE);
		prepare(state);
		before = still();
		errno = 0;
		SAME(read(ends.fd, shared + 10, block), 0);
		SAME(pread(ends.fd, shared, SIZE, PATTERN_SIZE + 5), 0);
		SAME(readv(ends.fd, three(shared, SIZE), 3), 0);
		SAME(errno, 0);
		nothing_since(before);
		close_ends(ends);
		same_bytes(state & 1);
	}
}

/* ---- ranges that are not in one object */

static void at_edge(ssize_t at)
{
	static const struct row *const tables[] = { files, vectors, streams, packets };
	unsigned char *one, *other, *around;

	start();
	/* The middle one of five pages of its own, and the same of ordinary memory. */
	around = mmap(NULL, 5 * size_of_one, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(around != MAP_FAILED);
	CHECK(!mprotect(around + 2 * size_of_one, size_of_one, PROT_READ | PROT_WRITE));
	other = around + 2 * size_of_one;
	for (;;) {
		one = neighbours(size_of_one);
		unsigned char *third = alloc(size_of_one);

		if (third == one + 2 * size_of_one || one == third + size_of_one) {
			unsigned char *first = one < third ? one : third;

			one = first + size_of_one;
			CHECK_OK(adsmFree(first));
			CHECK_OK(adsmFree(first + 2 * size_of_one));
			break;
		}
	}
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
		for (const struct row *row = tables[t]; row->name; row++)
			for (enum state state = 0; state < N_STATES; state++) {
				size_t size = 1000;
				struct ends ends = open_ends(row->kind, size), model = open_ends(row->kind, size);
				ssize_t from = at < 0 ? at : (ssize_t)size_of_one - at, n, want;
				int error;

				now("%s of %zu bytes at %zd, %s", row->name, size, from, state_names[state]);
				for (size_t i = 0; i < size_of_one; i++)
					*(volatile unsigned char *)(one + i) = other[i] = (unsigned char)draw(&seed);
				if (state != DIRTY) {
					increment(one);
					SETTLE();
					for (size_t i = 0; i < size_of_one; i++)
						other[i]++;
				}
				for (size_t i = 0; state == READ_ONLY && i < size_of_one; i += PAGE)
					(void)*(volatile unsigned char *)(one + i);
				errno = 0;
				want = row->run(model.fd, other + from, size);
				error = errno;
				errno = 0;
				n = row->run(ends.fd, one + from, size);
				SAME(errno, error);
				SAME(n, want);
				same_ends(row->kind, ends, model);
				close_ends(ends);
				close_ends(model);
				/* What a call that failed has left in its buffer, nobody knows. */
				for (size_t i = (size_t)from; n < 0 && i < size_of_one; i++)
					*(volatile unsigned char *)(one + i) = other[i];
				increment(one);
				SETTLE();
				for (size_t i = 0; i < size_of_one; i++)
					if (one[i] != (unsigned char)(other[i] + 1))
						FAIL("%s: byte %zu is %u, not %u", doing, i, one[i],
						     (unsigned char)(other[i] + 1));
			}
}

static void begin_before(void)
{
	at_edge(-100);
}

static void end_after(void)
{
	at_edge(100);
}

/* Each in a state of its own. */
static void two_objects(void)
{
	struct row all = files[0], out = files[3];

	start();
	for (int state = 0; state < 4; state++) {
		now("states %d", state);
		for (int way = 0; way < 2; way++) {
			prepare(DIRTY);
			for (int i = 0; i < 2; i++)
				if (state >> i & 1) {
					increment(shared + (size_t)i * size_of_one);
					for (size_t k = 0; k < size_of_one; k++)
						plain[(size_t)i * size_of_one + k]++;
				}
			SETTLE();
			compare(way ? &out : &all, block / 2, SIZE - block);
			same_bytes(way);
		}
	}
}

/* ---- calls that fail */

static void on_alarm(int signal)
{
}

static void eintr(void)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval often = { { 0, 5000 }, { 0, 5000 } }, never = { 0 };
	int fds[2];

	start();
	CHECK(!pipe(fds));
	CHECK(!sigaction(SIGALRM, &action, NULL));
	for (enum state state = 0; state < N_STATES; state++) {
		struct still before;

		now("%s", state_names[state]);
		prepare(state);
		before = still();
		CHECK(!setitimer(ITIMER_REAL, &often, NULL));
		errno = 0;
		SAME(read(fds[0], shared + 10, SIZE - 20), -1);
		SAME(errno, EINTR);
		errno = 0;
		SAME(readv(fds[0], three(shared, SIZE), 3), -1);
		SAME(errno, EINTR);
		CHECK(!setitimer(ITIMER_REAL, &never, NULL));
		nothing_since(before);
		same_bytes(state & 1);
	}
}

static void closed_fd(void)
{
	static const struct row *const tables[] = { files, vectors, streams, packets };

	start();
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
		for (const struct row *row = tables[t]; row->name; row++) {
			bool in = row->kind == FILE_IN || row->kind == PIPE_IN || row->kind == STREAM_IN ||
				row->kind == PACKET_IN;
			struct still before;

			now("%s", row->name);
			prepare(INVALID);
			before = still();
			errno = 0;
			SAME(row->run(-1, shared + 50, block), -1);
			SAME(errno, EBADF);
			/* What is to be written somewhere is fetched before. */
			if (in && !strstr(row->name, "vmsplice") && !strstr(row->name, "truncated") &&
			    !strstr(row->name, "short"))
				nothing_since(before);
			same_bytes(false);
		}
}

/* Arguments that libc's function refuses. */
static void refused(void)
{
	struct iovec *vector, *nowhere = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ends ends;

	CHECK(nowhere != MAP_FAILED);
	start();
	ends = open_ends(FILE_IN, 0);
	prepare(INVALID);
	vector = three(shared, 10);
#define REFUSED(call, error) do { \
	now("%s", #call); \
	errno = 0; \
	SAME(call, -1); \
	SAME(errno, error); \
} while (0)
	volatile int n = -1, most = IOV_MAX + 1;

	REFUSED(readv(-1, vector, 3), EBADF);
	REFUSED(readv(ends.fd, vector, n), EINVAL);
	REFUSED(readv(ends.fd, vector, most), EINVAL);
	REFUSED(readv(ends.fd, nowhere, 1), EFAULT);
	REFUSED(writev(ends.fd, nowhere, 2), EFAULT);
	REFUSED(preadv(ends.fd, (struct iovec *)((uintptr_t)nowhere + PAGE - 8), 1, 0), EFAULT);
	REFUSED(preadv2(ends.fd, vector, 3, 0, 0x40000000), EOPNOTSUPP);
	REFUSED(recvmsg(sockets(SOCK_DGRAM).fd, (struct msghdr *)nowhere, MSG_DONTWAIT), EFAULT);
	REFUSED(sendmsg(sockets(SOCK_DGRAM).fd, (struct msghdr *)nowhere, 0), EFAULT);
	REFUSED(recvmmsg(sockets(SOCK_DGRAM).fd, (struct mmsghdr *)nowhere, 1, MSG_DONTWAIT, NULL), EFAULT);
	REFUSED(recv(ends.fd, shared, 10, 0), ENOTSOCK);
	REFUSED(getrandom(shared, 10, 0x100), EINVAL);
	vector[0].iov_len = (size_t)SSIZE_MAX + 1;
	REFUSED(readv(ends.fd, vector, 3), EINVAL);
	SAME(readv(ends.fd, vector, 0), 0);
	same_bytes(false);
}

/* ---- kinds of files */

#define RECORDS 40u

/* Two processes append records from memory that only their device has. */
static void append(void)
{
	const char *fd_text = getenv("TEST_APPEND");
	int fd = fd_text ? atoi(fd_text) : memfd_create("append", 0), status;
	unsigned char first = fd_text ? 100 : 0;
	pid_t child = 0;
	char text[16];

	CHECK(fd >= 0);
	if (!fd_text) {
		CHECK(!fcntl(fd, F_SETFL, O_APPEND));
		snprintf(text, sizeof(text), "%d", fd);
		CHECK(!setenv("TEST_APPEND", text, 1));
		child = fork();
		CHECK(child >= 0);
		if (!child) {
			execl("/proc/self/exe", "io", "append", (char *)NULL);
			_exit(1);
		}
	}
	start();
	for (unsigned r = 0; r < RECORDS; r++) {
		for (size_t i = 0; i < block + 100; i++)
			*(volatile unsigned char *)(shared + i) = (unsigned char)(first + r);
		increment(shared);
		SETTLE();
		CHECK_EQ(write(fd, shared, block + 100), block + 100);
	}
	if (fd_text)
		return;
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(lseek(fd, 0, SEEK_END), 2 * RECORDS * (block + 100));

	unsigned next[2] = { 1, 101 };
	unsigned char *record = malloc(block + 100);

	for (unsigned r = 0; r < 2 * RECORDS; r++) {
		CHECK_EQ(pread(fd, record, block + 100, (off_t)(r * (block + 100))), block + 100);
		CHECK_EQ(record[0], next[record[0] > 100]++);
		for (size_t i = 0; i < block + 100; i++)
			CHECK_AT(record[i], i, record[0]);
	}
	free(record);
}

static void direct(void)
{
	char path[] = "direct-XXXXXX";
	int made, fd;

	start();
	made = mkstemp(path);
	CHECK(made >= 0);
	fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	CHECK(!unlink(path));
	if (fd < 0) {
		CHECK_EQ(errno, EINVAL);
		skip("this file system has no O_DIRECT");
	}
	for (enum state state = 0; state < N_STATES; state++) {
		now("%s", state_names[state]);
		prepare(state);
		SAME(pwrite(fd, shared, SIZE, 0), SIZE);
		unsigned char *copy = malloc(SIZE);

		CHECK_EQ(pread(made, copy, SIZE, 0), SIZE);
		SAME(memcmp(copy, plain, SIZE), 0);
		same_bytes(false);
		prepare(state);
		SAME(pread(fd, shared + PAGE, size_of_one, PAGE), size_of_one);
		memcpy(plain + PAGE, copy + PAGE, size_of_one);
		same_bytes(true);
		free(copy);
	}
}

static void full_pipe(void)
{
	start();
	for (enum state state = 0; state < N_STATES; state++) {
		struct ends ends = open_ends(PIPE_OUT, 0), model = open_ends(PIPE_OUT, 0);
		int fds[] = { ends.fd, model.fd };

		now("%s", state_names[state]);
		for (int i = 0; i < 2; i++) {
			CHECK_EQ(fcntl(fds[i], F_SETPIPE_SZ, PAGE), PAGE);
			CHECK(!fcntl(fds[i], F_SETFL, O_NONBLOCK));
		}
		prepare(state);
		CHECK_EQ(write(model.fd, plain + 50, block + 100), PAGE);
		SAME(write(ends.fd, shared + 50, block + 100), PAGE);
		errno = 0;
		SAME(write(ends.fd, shared + 50, block), -1);
		SAME(errno, EAGAIN);
		same_ends(PIPE_OUT, ends, model);
		errno = 0;
		SAME(write(ends.fd, shared + size_of_one - PAGE / 2, PAGE), PAGE);
		CHECK_EQ(write(model.fd, plain + size_of_one - PAGE / 2, PAGE), PAGE);
		same_ends(PIPE_OUT, ends, model);
		SAME(errno, EAGAIN);
		close_ends(ends);
		close_ends(model);
		same_bytes(state & 1);
	}
}

/* None is lost, whatever the state of the blocks it goes to. */
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

/* ---- what is moved */

static void counters(void)
{
	adsmStats before, after;
	struct ends ends;
	size_t one;

	start();
	one = info(shared).block_size < size_of_one ? info(shared).block_size : size_of_one;
	ends = open_ends(FILE_IN, 0);

	now("whole blocks");
	prepare(INVALID);
	before = stats();
	SAME(pread(ends.fd, shared, one, 0), one);
	after = stats();
	SAME(after.d2h_bytes, before.d2h_bytes);
	SAME(after.signals, before.signals);
	SAME(after.write_faults, before.write_faults + 1);

	now("a part");
	prepare(INVALID);
	before = stats();
	SAME(pread(ends.fd, shared + 10, 100, 0), 100);
	SAME(pread(ends.fd, shared + 200, 100, 0), 100);
	after = stats();
	SAME(after.d2h_bytes, before.d2h_bytes + one - 100);
	SAME(after.signals, before.signals);
	SAME(after.write_faults, before.write_faults + 1);

	now("what is there");
	prepare(READ_ONLY);
	before = stats();
	SAME(pwrite(ends.fd, shared, SIZE, 0), SIZE);
	after = stats();
	SAME(after.d2h_bytes, before.d2h_bytes);
	SAME(after.h2d_bytes, before.h2d_bytes);
	SAME(after.signals, before.signals);
	SAME(info(shared).n_dirty, 0);

	now("what is not there");
	prepare(INVALID);
	before = stats();
	SAME(pwrite(ends.fd, shared, SIZE, 0), SIZE);
	after = stats();
	SAME(after.d2h_bytes, before.d2h_bytes + SIZE);
	SAME(after.signals, before.signals);
}

/* The first fetch fails: no call is made, and the next one works. */
static void failed_fetch(void)
{
	struct ends ends;

	set("wrap", "fail=1,once,ops=to_host");
	start();
	prepare(INVALID);
	ends = open_ends(FILE_OUT, 0);
	CHECK_ERROR(adsmFree(plain), EINVAL);
	errno = 0;
	SAME(write(ends.fd, shared, 100), -1);
	SAME(errno, EIO);
	CHECK_SAYS("block 0");
	SAME(lseek(ends.fd, 0, SEEK_CUR), 5);
	SAME(write(ends.fd, shared, 100), 100);
	CHECK_EQ(pread(ends.fd, got[0], 100, 5), 100);
	SAME(memcmp(got[0], plain, 100), 0);
	same_bytes(false);
}

static void failed_packet(void)
{
	struct ends ends;

	set("wrap", "fail=1,once,ops=to_host");
	start();
	prepare(INVALID);
	ends = open_ends(PACKET_OUT, 0);
	errno = 0;
	SAME(send_many(ends.fd, shared, 100), -1);
	SAME(errno, EIO);
	SAME(send_many(ends.fd, shared, 100), 100);
	CHECK_EQ(recv(ends.other, got[0], 200, 0), 100);
	SAME(memcmp(got[0], plain, 100), 0);
	CHECK_EQ(recv(ends.other, got[0], 200, MSG_DONTWAIT), -1);
	same_bytes(false);
}

/* ---- memory of processes */

static ssize_t vm(bool out, pid_t pid, void *here, void *there, size_t size)
{
	struct iovec local[] = { { here, size / 2 }, { (char *)here + size / 2, size - size / 2 } };
	struct iovec remote = { there, size };

	return (out ? process_vm_writev : process_vm_readv)(pid, local, 2, &remote, 1, 0);
}

static void process_vm(void)
{
	unsigned char *mine;
	struct still before;
	int fds[2], status;
	pid_t child;
	char byte;

	start();
	mine = malloc(SIZE);
	CHECK(mine);
	for (enum state state = 0; state < N_STATES; state++)
		for (int case_ = 0; case_ < 6; case_++) {
			size_t at = block - 30, size = 2 * block + 2 * PAGE;

			now("case %d, %s", case_, state_names[state]);
			prepare(state);
			for (size_t i = 0; i < SIZE; i++)
				mine[i] = (unsigned char)draw(&seed);
			switch (case_) {
			case 0:		/* from here to ordinary memory, and the other way round */
				SAME(vm(false, getpid(), mine, shared + at, size), size);
				SAME(memcmp(mine, plain + at, size), 0);
				break;
			case 1:
				SAME(vm(true, getpid(), shared + at, mine, size), size);
				SAME(memcmp(mine, plain + at, size), 0);
				break;
			case 2:
				SAME(vm(true, getpid(), mine, shared + at, size), size);
				memcpy(plain + at, mine, size);
				break;
			case 3:
				SAME(vm(false, getpid(), shared + at, mine, size), size);
				memcpy(plain + at, mine, size);
				break;
			case 4:		/* both shared, even in one block */
				SAME(vm(false, getpid(), shared + size_of_one + 50, shared + 9, 900), 900);
				memcpy(plain + size_of_one + 50, plain + 9, 900);
				break;
			case 5:
				SAME(vm(true, getpid(), shared + 9, shared + 1000, 900), 900);
				memcpy(plain + 1000, plain + 9, 900);
				break;
			}
			same_bytes(case_ & 1);
		}

	/* Another process's memory is not ours, even where the addresses are. */
	now("another process");
	CHECK(!pipe(fds));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		close(fds[1]);
		_exit(read(fds[0], &byte, 1) != 0);
	}
	prepare(INVALID);
	for (size_t i = 0; i < 1000; i++)
		plain[10 + i] = mine[i];
	SAME(vm(false, child, shared + 10, mine, 1000), 1000);
	same_bytes(false);
	prepare(INVALID);
	before = still();
	errno = 0;
	SAME(vm(false, child, mine, shared, 1000), -1);
	SAME(errno, EFAULT);
	nothing_since(before);
	free(mine);
	close(fds[1]);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

/* ---- anything, in any order */

static void any_order(void)
{
	static const struct row *const tables[] = { files, vectors, streams, packets };

	start();
	prepare(DIRTY);
	for (int step = 0; step < 500; step++) {
		const struct row *table = tables[draw(&seed) % 4], *row;
		size_t n = 0, at = draw(&seed) % SIZE, size = draw(&seed) % (SIZE - at);

		size = draw(&seed) % 2 ? size % 300 : size;
		size = size < size_of_one ? size : size_of_one;
		while (table[n].name)
			n++;
		row = &table[draw(&seed) % n];
		now("step %d: %s of %zu bytes at %zu", step, row->name, size, at);
		switch (draw(&seed) % 8) {
		case 0:
			on_device();
			break;
		case 1:
			for (size_t i = at; i < at + size % 5000 && i < SIZE; i++)
				*(volatile unsigned char *)(shared + i) = plain[i] = (unsigned char)draw(&seed);
			break;
		case 2:
			for (size_t i = at; i < at + size; i++)
				SAME(shared[i], plain[i]);
			break;
		default:
			compare(row, at, size);
		}
	}
	same_bytes(false);
}

static const struct conform_case cases[] = {
	CASE("rows-files", rows_files),
	CASE("rows-vectors", rows_vectors),
	CASE("rows-streams", rows_streams),
	CASE("rows-packets", rows_packets),
	CASE("rows-sources", rows_sources),
	CASE("short-file", short_file),
	CASE("eof", eof),
	CASE("begin-before", begin_before),
	CASE("end-after", end_after),
	CASE("two-objects", two_objects),
	CASE("eintr", eintr),
	CASE("closed-fd", closed_fd),
	CASE("refused", refused),
	CASE("append", append),
	CASE("direct", direct),
	CASE("full-pipe", full_pipe),
	CASE("datagrams", datagrams),
	CASE("discarded", discarded),
	CASE("mixed-vectors", mixed_vectors),
	CASE("long-vectors", long_vectors),
	CASE("messages", messages),
	CASE("many-messages", many_messages),
	CASE("control", control),
	CASE("queues", queues),
	FAULT_CASE("counters", counters),
	FAULT_CASE("failed-fetch", failed_fetch),
	FAULT_CASE("failed-packet", failed_packet),
	CASE("process-vm", process_vm),
	CASE("random", any_order),
};

CONFORM_MAIN(cases)
