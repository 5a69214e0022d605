/* SPDX-License-Identifier: MIT */
/*
 * shadow.c - threads read and write shared memory in every way there is, while kernels run over it, and know what
 * must be in it: there is a shadow of each object in ordinary memory.
 *
 * The bytes of an object are dealt out in pieces, so threads share blocks but no bytes. They work by themselves for
 * a while, then all meet, a kernel runs over some objects or all, and each looks at all its bytes. Some meet
 * in a read() that gets its bytes when the kernel has run. One object of each thread is its own, kernels included.
 *
 * usage: shadow [--seconds N] [--seed N]
 */
#include <adsm.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
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

#define THREADS 8
#define SHARED 6			/* objects dealt out */
#define OWN_SIZE 50000
#define PIECES 1000			/* most of a thread */
#define SPOTS 3				/* most of one vector */
#define SPOT_MAX 16000			/* so that a vector fits into an empty pipe */
#define TOTAL_MAX (SPOTS * SPOT_MAX)

struct object {
	unsigned char *p, *shadow;
	size_t size;			/* whole words */
};

struct piece {
	struct object *object;
	size_t first, size;
};

/* What an operation works on: bytes inside one piece of the thread's. */
struct spot {
	struct object *object;
	unsigned char *p, *shadow;
	size_t size;
};

enum channel { CHANNEL_FILE, CHANNEL_PIPE, CHANNEL_STREAM, CHANNEL_DATAGRAM, CHANNELS };

struct worker {
	pthread_t thread;
	struct object *own;
	struct piece pieces[PIECES];	/* the first is all of its own object */
	size_t n_pieces;
	int in[CHANNELS], out[CHANNELS];
	char path[32];			/* of the file */
	/* What it reads while a kernel runs. */
	uint64_t late_seed;
	size_t late_size;		/* 0: nothing */
};

/* Bytes for somebody who waits for them already. */
struct request {
	int fd;
	size_t size;
	uint64_t seed;
};

static struct object objects[SHARED + THREADS];
static struct worker workers[THREADS];
static pthread_barrier_t barrier;
static int requests[2];
static adsmKernel *increment_bytes, *increment_any;
static uint64_t seed, deadline;
static bool batch;			/* what a call may write is not touched before the sync */
static bool ended;
static atomic_ulong n_operations, n_phases;

static _Thread_local struct worker *me;
static _Thread_local uint64_t state;
static _Thread_local const char *doing = "start";
static _Thread_local struct spot last;
static _Thread_local unsigned char buffer[TOTAL_MAX], expected[TOTAL_MAX];

#define FAIL(...) do { \
	const int errno_ = errno; \
	fprintf(stderr, "shadow: seed %lu, thread %d, %s: ", (unsigned long)seed, me ? (int)(me - workers) : -1, \
		doing); \
	fprintf(stderr, __VA_ARGS__); \
	if (last.object) \
		fprintf(stderr, "; last used: object %td, %zu bytes at %td", last.object - objects, last.size, \
			last.p - last.object->p); \
	fprintf(stderr, " (%s; %s)\n", strerror(errno_), adsmLastError()); \
	_exit(1); \
} while (0)

#define CHECK(x) do { \
	if (!(x)) \
		FAIL("line %d: %s", __LINE__, #x); \
} while (0)

#define CHECK_IS(got, want) do { \
	const long got_ = (long)(got), want_ = (long)(want); \
	if (got_ != want_) \
		FAIL("line %d: %s is %ld, not %ld", __LINE__, #got, got_, want_); \
} while (0)

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* splitmix64 */
static uint64_t draw_from(uint64_t *from)
{
	uint64_t z = *from += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

static size_t draw(size_t n)
{
	return draw_from(&state) % n;
}

static void make_bytes(unsigned char *bytes, size_t size, uint64_t from)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (unsigned char)(draw_from(&from) >> 8);
}

static struct spot any_spot(size_t most)
{
	const struct piece *piece = &me->pieces[draw(5) ? draw(me->n_pieces) : 0];
	size_t first = draw(3) ? draw(piece->size) : 0;
	size_t size = piece->size - first;

	if (size > most)
		size = most;
	if (draw(2))
		size = draw(size) + 1;
	first += piece->first;
	last = (struct spot){ piece->object, piece->object->p + first, piece->object->shadow + first, size };
	return last;
}

static void same(const unsigned char *got, const unsigned char *want, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (got[i] != want[i])
			FAIL("byte %zu of %zu is %u, not %u", i, size, got[i], want[i]);
}

/* The spots of a vector, with their shadows' bytes in @expected. */
static size_t draw_spots(struct spot *spots, struct iovec *vector, int n)
{
	size_t total = 0;

	for (int i = 0; i < n; i++) {
		spots[i] = any_spot(SPOT_MAX);
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

/* ---- operations */

static void plain(void)
{
	const struct spot s = any_spot(SIZE_MAX);
	const size_t step = draw(2) ? 1 : draw(5000) + 1;
	const bool write = draw(2);
	volatile unsigned char *p = s.p;

	for (size_t i = 0; i < s.size; i += step)
		if (write)
			p[i] = s.shadow[i] = (unsigned char)(s.shadow[i] + i + 1);
		else if (p[i] != s.shadow[i])
			FAIL("byte %zu is %u, not %u", i, p[i], s.shadow[i]);
}

static void memory_in(void)
{
	const struct spot s = any_spot(SPOT_MAX);

	make_bytes(buffer, s.size, draw_from(&state));
	memcpy(s.shadow, buffer, s.size);
	switch (draw(5)) {
	case 0: CHECK(memcpy(s.p, buffer, s.size) == s.p); break;
	case 1: CHECK(memmove(s.p, buffer, s.size) == s.p); break;
	case 2: CHECK(mempcpy(s.p, buffer, s.size) == s.p + s.size); break;
	case 3: CHECK(!adsmMemcpy(s.p, buffer, s.size)); break;
	case 4:
		memset(s.shadow, buffer[0], s.size);
		CHECK(memset(s.p, buffer[0], s.size) == s.p);
		break;
	}
}

static void memory_out(void)
{
	const struct spot s = any_spot(SPOT_MAX);

	switch (draw(4)) {
	case 0: CHECK(memcpy(buffer, s.p, s.size) == buffer); break;
	case 1: CHECK(memmove(buffer, s.p, s.size) == buffer); break;
	case 2: CHECK(mempcpy(buffer, s.p, s.size) == buffer + s.size); break;
	case 3: CHECK(!adsmMemcpy(buffer, s.p, s.size)); break;
	}
	same(buffer, s.shadow, s.size);
}

/* From one place of shared memory to another; they may overlap. */
static void memory_across(void)
{
	const struct spot to = any_spot(SIZE_MAX), from = any_spot(to.size);

	CHECK(memmove(to.p, from.p, from.size) == to.p);
	memmove(to.shadow, from.shadow, from.size);
}

static void input(enum channel channel)
{
	struct spot spots[SPOTS];
	struct iovec vector[SPOTS];
	struct msghdr message = { .msg_iov = vector };
	const size_t call = draw(channel == CHANNEL_PIPE ? 2 : 4);
	const int n = call % 2 ? (int)draw(SPOTS) + 1 : 1, fd = me->in[channel];
	const size_t total = draw_spots(spots, vector, n), sent = draw(2) ? total : draw(TOTAL_MAX) + 1;
	const size_t want = sent < total ? sent : total;
	const off_t at = (off_t)draw(100000);
	ssize_t got = -1;

	make_bytes(buffer, sent, draw_from(&state));
	if (channel == CHANNEL_FILE) {
		CHECK_IS(pwrite(fd, buffer, sent, at), sent);
		CHECK(!ftruncate(fd, at + (off_t)sent) && lseek(fd, at, SEEK_SET) == at);
	} else {
		CHECK_IS(write(me->out[channel], buffer, sent), sent);
	}
	message.msg_iovlen = (size_t)n;
	if (channel >= CHANNEL_STREAM && !draw(4)) {
		CHECK_IS(recv(fd, spots[0].p, spots[0].size, MSG_PEEK), sent < spots[0].size ? sent : spots[0].size);
		deliver(spots, sent < spots[0].size ? sent : spots[0].size);
	}
	switch (call) {
	case 0: got = read(fd, spots[0].p, total); break;
	case 1: got = readv(fd, vector, n); break;
	case 2:
		got = channel == CHANNEL_FILE ? pread(fd, spots[0].p, total, at) : recv(fd, spots[0].p, total, 0);
		break;
	case 3: got = channel == CHANNEL_FILE ? preadv(fd, vector, n, at) : recvmsg(fd, &message, 0); break;
	}
	CHECK_IS(got, want);
	deliver(spots, want);
	/* The rest must not come next time. */
	if (channel == CHANNEL_PIPE || channel == CHANNEL_STREAM)
		for (size_t left = sent - want; left; left -= (size_t)got) {
			got = read(fd, expected, left);
			CHECK(got > 0);
		}
}

static void output(enum channel channel)
{
	struct spot spots[SPOTS];
	struct iovec vector[SPOTS];
	struct msghdr message = { .msg_iov = vector };
	const size_t call = draw(channel == CHANNEL_PIPE ? 2 : 4);
	const int n = call % 2 ? (int)draw(SPOTS) + 1 : 1, fd = me->out[channel];
	const size_t total = draw_spots(spots, vector, n);
	const off_t at = (off_t)draw(100000);
	ssize_t got = -1;

	message.msg_iovlen = (size_t)n;
	CHECK(channel != CHANNEL_FILE || lseek(fd, at, SEEK_SET) == at);
	switch (call) {
	case 0: got = write(fd, spots[0].p, total); break;
	case 1: got = writev(fd, vector, n); break;
	case 2:
		got = channel == CHANNEL_FILE ? pwrite(fd, spots[0].p, total, at) : send(fd, spots[0].p, total, 0);
		break;
	case 3: got = channel == CHANNEL_FILE ? pwritev(fd, vector, n, at) : sendmsg(fd, &message, 0); break;
	}
	CHECK_IS(got, total);
	for (size_t done = 0; done < total; done += (size_t)got) {
		got = channel == CHANNEL_FILE ? pread(fd, buffer + done, total - done, at + (off_t)done) :
						read(me->in[channel], buffer + done, total - done);
		CHECK(got > 0);
	}
	same(buffer, expected, total);
}

static void file_in(void) { input(CHANNEL_FILE); }
static void file_out(void) { output(CHANNEL_FILE); }
static void pipe_in(void) { input(CHANNEL_PIPE); }
static void pipe_out(void) { output(CHANNEL_PIPE); }
static void stream_in(void) { input(CHANNEL_STREAM); }
static void stream_out(void) { output(CHANNEL_STREAM); }
static void datagram_in(void) { input(CHANNEL_DATAGRAM); }
static void datagram_out(void) { output(CHANNEL_DATAGRAM); }

static void stdio_in(void)
{
	const struct spot s = any_spot(SPOT_MAX);
	const size_t sent = draw(2) ? s.size : draw(s.size);
	FILE *stream;

	make_bytes(buffer, sent, draw_from(&state));
	CHECK_IS(pwrite(me->out[CHANNEL_FILE], buffer, sent, 0), sent);
	CHECK(!ftruncate(me->out[CHANNEL_FILE], (off_t)sent));
	stream = fopen(me->path, "r");
	CHECK(stream);
	CHECK_IS(fread(s.p, 1, s.size, stream), sent);
	CHECK_IS(!!feof(stream), sent < s.size);
	CHECK(!fclose(stream));
	deliver(&s, sent);
}

static void stdio_out(void)
{
	const struct spot s = any_spot(SPOT_MAX);
	FILE *stream = fopen(me->path, "w");

	CHECK(stream);
	CHECK_IS(fwrite(s.p, 1, s.size, stream), s.size);
	CHECK(!fclose(stream));
	CHECK_IS(pread(me->in[CHANNEL_FILE], buffer, s.size, 0), s.size);
	same(buffer, s.shadow, s.size);
}

/* Nobody knows these bytes before, so they are looked at. */
static void random_in(void)
{
	const struct spot s = any_spot(SPOT_MAX);
	const size_t size = s.size < 256 ? s.size : 256;

	CHECK_IS(getrandom(s.p, size, 0), size);
	for (size_t i = 0; i < size; i++)
		s.shadow[i] = s.p[i];
}

/* A path in shared memory, and what the system says of it in shared memory too. */
static void describe(void)
{
	const struct spot path = any_spot(SPOT_MAX), to = any_spot(SPOT_MAX);
	const size_t skip = -(uintptr_t)to.p % _Alignof(struct stat);
	struct stat info;
	int fd;

	if (path.size < sizeof(me->path) || to.size < skip + sizeof(info))
		return;
	memset(&info, 0, sizeof(info));
	CHECK(!fstat(me->out[CHANNEL_FILE], &info));
	memcpy(to.shadow + skip, &info, sizeof(info));
	CHECK(!fstat(me->out[CHANNEL_FILE], (struct stat *)(to.p + skip)));
	/* Last, as it may be in the same place. */
	memcpy(path.shadow, me->path, sizeof(me->path));
	memcpy(path.p, me->path, sizeof(me->path));
	fd = open((char *)path.p, O_RDONLY);
	CHECK(fd >= 0 && !close(fd));
	CHECK(!access((char *)path.p, R_OK));
}

/* More is asked for than comes. */
static void read_late(const struct spot *s, size_t size, uint64_t from)
{
	ssize_t got;

	for (size_t done = 0; done < size; done += (size_t)got) {
		got = read(me->in[CHANNEL_PIPE], s->p + done, s->size - done);
		CHECK(got > 0);
	}
	make_bytes(s->shadow, size, from);
}

/* The bytes come later, in parts. */
static void late_in(void)
{
	const struct spot s = any_spot(SPOT_MAX);
	const struct request request = { me->out[CHANNEL_PIPE], draw(s.size) + 1, draw_from(&state) };

	CHECK_IS(write(requests[1], &request, sizeof(request)), sizeof(request));
	read_late(&s, request.size, request.seed);
}

/* A kernel over one object; @any: without saying so, for all it says it may use every object. */
static void increment(struct object *object, bool any)
{
	const unsigned n = (unsigned)(any ? object->size / 4 : object->size);
	unsigned word;

	CHECK(!adsmCall(any ? increment_any : increment_bytes, adsmDim3((n + 255) / 256, 1, 1), adsmDim3(256, 1, 1),
			adsmPtr(object->p), adsmVal(n)));
	for (size_t i = 0; i < object->size; i += any ? 4 : 1) {
		if (!any) {
			object->shadow[i]++;
			continue;
		}
		memcpy(&word, object->shadow + i, 4);
		word++;
		memcpy(object->shadow + i, &word, 4);
	}
}

static void own_call(void)
{
	last = (struct spot){ me->own, me->own->p, me->own->shadow, me->own->size };
	increment(me->own, !batch && draw(2));
	if (batch || !draw(3))
		CHECK(!adsmSync());
}

static const struct {
	const char *name;
	void (*run)(void);
} operations[] = {
	{ "plain accesses", plain }, { "plain accesses", plain },
	{ "memory in", memory_in }, { "memory out", memory_out }, { "memmove", memory_across },
	{ "file in", file_in }, { "file out", file_out },
	{ "pipe in", pipe_in }, { "pipe out", pipe_out },
	{ "stream in", stream_in }, { "stream out", stream_out },
	{ "datagram in", datagram_in }, { "datagram out", datagram_out },
	{ "stdio in", stdio_in }, { "stdio out", stdio_out },
	{ "getrandom", random_in }, { "path and stat", describe },
	{ "late input", late_in }, { "own call", own_call },
};

/* ---- phases */

static void meet(void)
{
	int error = pthread_barrier_wait(&barrier);

	CHECK(!error || error == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void look(void)
{
	doing = "look";
	for (size_t i = 0; i < me->n_pieces; i++) {
		const struct piece *piece = &me->pieces[i];
		unsigned char *p = piece->object->p + piece->first, *shadow = piece->object->shadow + piece->first;

		last = (struct spot){ piece->object, p, shadow, piece->size };
		if (memcmp(p, shadow, piece->size))
			same(p, shadow, piece->size);
	}
}

/* One for all: kernels over some objects, then what the others wait for in read(). */
static void run_kernels(void)
{
	const bool any = draw(2), all = draw(2);
	bool late = false;

	doing = "calls";
	for (unsigned i = 0; i < SHARED; i++)
		if (all || !draw(SHARED))
			increment(&objects[i], any);
	for (unsigned t = 0; t < THREADS; t++)
		late |= workers[t].late_size;
	if (batch || late || draw(2))
		CHECK(!adsmSync());
	/* Fetches blocks around what they wait for. */
	if (late)
		look();
	doing = "feeding";
	for (unsigned t = 0; t < THREADS; t++) {
		make_bytes(buffer, workers[t].late_size, workers[t].late_seed);
		CHECK_IS(write(workers[t].out[CHANNEL_PIPE], buffer, workers[t].late_size), workers[t].late_size);
	}
	ended = now_ns() > deadline;
	n_phases++;
}

static void *run(void *data)
{
	struct spot late = { 0 };

	me = data;
	state = seed * 1000 + (uint64_t)(me - workers);
	do {
		for (size_t left = draw(60); left > 0; left--) {
			const size_t which = draw(sizeof(operations) / sizeof(operations[0]));

			doing = operations[which].name;
			operations[which].run();
			n_operations++;
		}
		me->late_size = 0;
		if (me != workers && !draw(3)) {
			late = any_spot(SPOT_MAX);
			me->late_size = draw(late.size) + 1;
			me->late_seed = draw_from(&state);
		}
		doing = "meeting";
		meet();
		if (me == workers) {
			run_kernels();
		} else if (me->late_size) {
			doing = "input across a call";
			read_late(&late, me->late_size, me->late_seed);
		}
		meet();
		look();
	} while (!ended);
	CHECK(!adsmSync());
	return NULL;
}

static void *feed(void *data)
{
	struct request request;

	state = seed;
	doing = "feeding";
	while (read(requests[0], &request, sizeof(request)) == sizeof(request) && request.size) {
		make_bytes(buffer, request.size, request.seed);
		for (size_t done = 0, n; done < request.size; done += n) {
			const struct timespec pause = { 0, (long)draw(200000) };

			nanosleep(&pause, NULL);
			n = draw(3) ? draw(request.size - done) + 1 : request.size - done;
			CHECK_IS(write(request.fd, buffer + done, n), n);
		}
	}
	return NULL;
}

/* ---- before and after */

static void new_object(struct object *object, size_t size)
{
	object->size = size / 4 * 4;
	object->p = adsmAlloc(object->size);
	object->shadow = malloc(object->size);
	CHECK(object->p && object->shadow);
	make_bytes(object->shadow, object->size, draw_from(&state));
	memcpy(object->p, object->shadow, object->size);
}

static void give(struct worker *worker, struct object *object, size_t first, size_t size)
{
	CHECK(worker->n_pieces < PIECES);
	worker->pieces[worker->n_pieces++] = (struct piece){ object, first, size };
}

/* In pieces of all sizes: from some of a few bytes in one block to such as cover blocks. */
static void deal(struct object *object)
{
	static const size_t scales[] = { 8, 60, 500, 3000, 20000 };

	for (size_t first = 0, size; first < object->size; first += size) {
		size = draw(scales[draw(5)]) + 1;
		if (size > object->size - first)
			size = object->size - first;
		give(&workers[draw(THREADS)], object, first, size);
	}
}

static void prepare(struct worker *worker, struct object *own)
{
	int pair[2];

	new_object(own, OWN_SIZE);
	worker->own = own;
	give(worker, own, 0, own->size);
	worker->in[CHANNEL_FILE] = worker->out[CHANNEL_FILE] = memfd_create("shadow", MFD_CLOEXEC);
	CHECK(worker->in[CHANNEL_FILE] >= 0);
	snprintf(worker->path, sizeof(worker->path), "/proc/self/fd/%d", worker->in[CHANNEL_FILE]);
	CHECK(!pipe(pair));
	worker->in[CHANNEL_PIPE] = pair[0];
	worker->out[CHANNEL_PIPE] = pair[1];
	for (enum channel i = CHANNEL_STREAM; i <= CHANNEL_DATAGRAM; i++) {
		CHECK(!socketpair(AF_UNIX, i == CHANNEL_STREAM ? SOCK_STREAM : SOCK_DGRAM, 0, pair));
		worker->in[i] = pair[0];
		worker->out[i] = pair[1];
	}
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (!*text || *end) {
		fprintf(stderr, "usage: shadow [--seconds N] [--seed N]\n");
		exit(2);
	}
	return n;
}

int main(int argc, char **argv)
{
	static const size_t sizes[SHARED] = { 300, 5000, 4096 * 4, 70000, 300000, 1000000 };
	const char *folder = getenv("TEST_KERNELS"), *protocol = getenv("ADSM_PROTOCOL");
	const struct request no_more = { 0 };
	unsigned long seconds = 1;
	adsmModule *module;
	pthread_t feeder;
	char path[4096];

	seed = now_ns() % 1000000;
	for (int i = 1; i < argc; i += 2) {
		unsigned long n = number(i + 1 < argc ? argv[i + 1] : "");

		if (!strcmp(argv[i], "--seconds"))
			seconds = n;
		else if (!strcmp(argv[i], "--seed"))
			seed = n;
		else
			number("");
	}
	printf("shadow: --seed %lu --seconds %lu\n", (unsigned long)seed, seconds);
	fflush(stdout);
	state = seed;
	batch = protocol && !strcmp(protocol, "batch");
	CHECK(folder);
	snprintf(path, sizeof(path), "%s/conform.adsm", folder);
	module = adsmModuleLoad(path);
	CHECK(module);
	increment_bytes = adsmKernelGet(module, "increment_bytes");
	increment_any = adsmKernelGet(module, "increment_any");
	CHECK(increment_bytes && increment_any);
	for (unsigned t = 0; t < THREADS; t++)
		prepare(&workers[t], &objects[SHARED + t]);
	for (unsigned i = 0; i < SHARED; i++) {
		new_object(&objects[i], sizes[i]);
		deal(&objects[i]);
	}
	deadline = now_ns() + seconds * 1000000000u;
	CHECK(!pipe(requests) && !pthread_barrier_init(&barrier, NULL, THREADS));
	CHECK(!pthread_create(&feeder, NULL, feed, NULL));
	for (unsigned t = 0; t < THREADS; t++)
		CHECK(!pthread_create(&workers[t].thread, NULL, run, &workers[t]));
	for (unsigned t = 0; t < THREADS; t++)
		CHECK(!pthread_join(workers[t].thread, NULL));
	CHECK_IS(write(requests[1], &no_more, sizeof(no_more)), sizeof(no_more));
	CHECK(!pthread_join(feeder, NULL));
	for (unsigned i = 0; i < SHARED + THREADS; i++) {
		CHECK(!adsmFree(objects[i].p));
		free(objects[i].shadow);
	}
	CHECK(!adsmModuleUnload(module));
	CHECK(!adsmShutdown());
	printf("shadow: %lu operations in %lu phases\n", (unsigned long)n_operations, (unsigned long)n_phases);
	return 0;
}
