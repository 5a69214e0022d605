/* SPDX-License-Identifier: MIT */
/* io.c - system calls that read and write bulk memory, each held against the same call on ordinary memory. */
#undef _FILE_OFFSET_BITS	/* pread() and pread64() are two names here */
#include "../sanitizers.h"
#include "ends.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sys/random.h>
#include <sys/un.h>

ssize_t __read(int fd, void *p, size_t size);
ssize_t __write(int fd, const void *p, size_t size);
ssize_t __pread64(int fd, void *p, size_t size, off64_t at);
ssize_t __pwrite64(int fd, const void *p, size_t size, off64_t at);
/* Elsewhere glibc has it only for programs that were linked long ago. */
#ifdef __x86_64__
ssize_t __send(int fd, const void *p, size_t size, int flags);
#define OLD_SEND __send
#else
#define OLD_SEND send
#endif
ssize_t __read_chk(int fd, void *p, size_t size, size_t most);
ssize_t __pread_chk(int fd, void *p, size_t size, off64_t at, size_t most);
ssize_t __pread64_chk(int fd, void *p, size_t size, off64_t at, size_t most);
ssize_t __recv_chk(int fd, void *p, size_t size, size_t most, int flags);
ssize_t __recvfrom_chk(int fd, void *p, size_t size, size_t most, int flags, struct sockaddr *name,
		       socklen_t *length);

/* ---- rows: the functions; columns: where the buffer is, and in what state */

struct row {
	const char *name;
	enum kind kind;
	ssize_t (*run)(int fd, unsigned char *p, size_t size);
};

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
	X(__send, STREAM_OUT, OLD_SEND(fd, p, size, 0)) \
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
#if WITH_TSAN	/* slow, and what it finds it finds with few columns */
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
				/* The contents of a buffer after a failed call are unknown. */
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
	CASE("begin-before", begin_before),
	CASE("end-after", end_after),
	CASE("two-objects", two_objects),
	CASE("closed-fd", closed_fd),
	FAULT_CASE("failed-packet", failed_packet),
	CASE("random", any_order),
};
CONFORM_MAIN(cases)
