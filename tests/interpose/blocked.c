/* SPDX-License-Identifier: MIT */
/* blocked.c - calls that wait for input into shared memory, what happens meanwhile, and ways out of them. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"
#include "traced.h"

#define N 200000u		/* bytes of the object: several blocks of any size tested, and a part of one */

/* A thread that receives into shared memory, and what became of it. */
struct receiver {
	int fd;
	unsigned char *p;
	size_t size;
	_Atomic pid_t tid;
	ssize_t result;
	int error;
	pthread_t thread;
	int other_end;
};

static unsigned char *object;
static unsigned char want[N];

static void *receive(void *arg)
{
	struct receiver *r = arg;

	atomic_store(&r->tid, (pid_t)syscall(SYS_gettid));
	r->result = recv(r->fd, r->p, r->size, 0);
	r->error = errno;
	return NULL;
}

static void prepare(struct receiver *r, unsigned char *p, size_t size, int type)
{
	int ends[2];

	CHECK(!socketpair(AF_UNIX, type, 0, ends));
	*r = (struct receiver){ .fd = ends[0], .other_end = ends[1], .p = p, .size = size };
}

static void start_as(struct receiver *r, void *(*run)(void *))
{
	CHECK(!pthread_create(&r->thread, NULL, run, r));
	while (!atomic_load(&r->tid) || !asleep(atomic_load(&r->tid)))
		sched_yield();
}

static void start(struct receiver *r, unsigned char *p, size_t size, int type)
{
	prepare(r, p, size, type);
	start_as(r, receive);
}

static void end(struct receiver *r)
{
	CHECK(!pthread_join(r->thread, NULL));
	close(r->fd);
	close(r->other_end);
}

/* Let it have @size bytes; they are what the object must hold from then on. */
static void deliver(struct receiver *r, const char *bytes, size_t size)
{
	CHECK_EQ(write(r->other_end, bytes, size), size);
	CHECK(!pthread_join(r->thread, NULL));
	CHECK_EQ(r->result, size < r->size ? size : r->size);
	memcpy(want + (r->p - object), bytes, size < r->size ? size : r->size);
	close(r->fd);
	close(r->other_end);
}

static void increment(void)
{
	CALL("increment_bytes", N, adsmInOut(object), adsmVal(N));
	SYNC();
	for (size_t i = 0; i < N; i++)
		want[i]++;
}

/* Bytes that only the device has. */
static void make(void)
{
	object = alloc(N);
	for (size_t i = 0; i < N; i++)
		object[i] = want[i] = (unsigned char)(i % 251);
	increment();
}

static void verify(void)
{
	for (size_t i = 0; i < N; i++)
		CHECK_AT(object[i], i, want[i]);
	increment();	/* and the device has it too */
	for (size_t i = 0; i < N; i++)
		CHECK_AT(object[i], i, want[i]);
	CHECK_OK(adsmFree(object));
}

/* Calls come and go on the object that is received into, and the CPU reads and writes beside. */
static void calls(void)
{
	struct receiver r;

	make();
	start(&r, object + 100, 70000, SOCK_STREAM);
	increment();
	CHECK_EQ(object[99], want[99]);
	CHECK_EQ(object[N - 1], want[N - 1]);
	object[99] = want[99] = 42;
	increment();
	increment();
	object[90000] = want[90000] = 43;
	deliver(&r, "something", 9);
	verify();
}

/* What a fetch left out must not reach the device, which has newer bytes there. */
static void holes(void)
{
	struct receiver r;

	make();
	start(&r, object + 100, 300, SOCK_STREAM);
	object[50] = want[50] = 1;	/* fetches the block around them */
	increment();			/* sends it */
	object[60] = want[60] = 2;
	increment();
	deliver(&r, "x", 1);
	verify();
}

/* A short input into a block that only the device has: the rest of it stays as the kernel left it. */
static void short_input(void)
{
	struct receiver r;

	make();
	start(&r, object + 5, 150000, SOCK_STREAM);
	deliver(&r, "0123456789", 10);
	verify();
	/* The same where the block has come meanwhile. */
	make();
	start(&r, object + 5, 150000, SOCK_STREAM);
	CHECK_EQ(object[0], want[0]);
	CHECK_EQ(object[150005], want[150005]);
	deliver(&r, "0123456789", 10);
	verify();
}

/* Nothing comes at all: nothing has happened. */
static void nothing(void)
{
	struct receiver r;

	make();
	start(&r, object + 5, 150000, SOCK_STREAM);
	CHECK_EQ(object[0], want[0]);
	close(r.other_end);
	CHECK(!pthread_join(r.thread, NULL));
	CHECK_EQ(r.result, 0);
	close(r.fd);
	verify();
}

/* Two inputs into one block, while a third thread reads it. */
static void two(void)
{
	struct receiver a, b;

	make();
	start(&a, object + 1000, 1000, SOCK_STREAM);
	start(&b, object + 2000, 1000, SOCK_STREAM);
	for (size_t i = 0; i < 4096; i++)
		if (i < 1000 || i >= 3000)
			CHECK_AT(object[i], i, want[i]);
	deliver(&a, "first", 5);
	CHECK_EQ(object[1000], 'f');
	CHECK_EQ(object[1005], want[1005]);
	CHECK_EQ(object[999], want[999]);
	increment();
	CHECK_EQ(object[1999], want[1999]);
	deliver(&b, "second", 6);
	verify();
}

/* Datagrams that come into blocks that are Invalid: none may be lost, whatever its size. */
static void datagrams(void)
{
	static char packet[100000];
	struct receiver r;

	for (size_t i = 0; i < sizeof(packet); i++)
		packet[i] = (char)(i % 127);
	make();
	start(&r, object + 4097, sizeof(packet), SOCK_DGRAM);
	increment();
	deliver(&r, packet, sizeof(packet));
	increment();
	start(&r, object + 10, 20, SOCK_DGRAM);
	CHECK_EQ(object[9], want[9]);
	deliver(&r, packet, 5000);	/* longer than the buffer: cut, as always */
	verify();
}

/* Cancelled while it waits: as if it had never been. */
static void cancelled(void)
{
	struct receiver r;
	void *result;

	for (int round = 0; round < 4; round++) {
		make();
		start(&r, object + 100, 70000, SOCK_STREAM);
		if (round & 1)
			CHECK_EQ(object[99], want[99]);
		CHECK(!pthread_cancel(r.thread));
		CHECK(!pthread_join(r.thread, &result));
		CHECK(result == PTHREAD_CANCELED);
		if (round & 2)
			increment();
		close(r.fd);
		close(r.other_end);
		verify();
	}
}

static sigjmp_buf out;

static void jump(int sig)
{
	siglongjmp(out, 1);
}

static void *receive_and_jump(void *arg)
{
	struct receiver *r = arg;

	if (!sigsetjmp(out, 1)) {
		receive(r);
		CHECK(!"the call went on");
	}
	/* This thread, too, finds what the device has. */
	CHECK_EQ(object[100], want[100]);
	return NULL;
}

/* Left by siglongjmp() from a signal handler. */
static void jumped(void)
{
	struct sigaction action = { .sa_handler = jump };
	struct receiver r;

	CHECK(!sigaction(SIGUSR1, &action, NULL));
	for (int round = 0; round < 4; round++) {
		make();
		prepare(&r, object + 100, 70000, SOCK_STREAM);
		start_as(&r, receive_and_jump);
		if (round & 1)
			CHECK_EQ(object[99], want[99]);
		CHECK(!pthread_kill(r.thread, SIGUSR1));
		end(&r);
		if (round & 2)
			increment();
		verify();
	}
}

static bool by_exit;

static void *exit_here(void *arg)
{
	pthread_exit(NULL);
}

/* What pthread_exit() loads when it is called first is not for a handler to load. */
static void exit_once(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, exit_here, NULL));
	CHECK(!pthread_join(thread, NULL));
}

static void leave(int sig)
{
	CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	if (by_exit)
		pthread_exit(NULL);
	siglongjmp(out, 1);
}

static void *receive_and_leave(void *arg)
{
	if (!sigsetjmp(out, 1)) {
		CHECK(signal(SIGPIPE, leave) != SIG_ERR);
		receive(arg);
		CHECK(!"the call went on");
	}
	return NULL;
}

/* Left while the end of the input waits for a kernel: as if nothing had come. */
static void left_at_end(void)
{
	struct receiver r;

	trace();
	exit_once();
	for (int round = 0; round < 2; round++) {
		by_exit = round;
		make();
		prepare(&r, object + 100, 70000, SOCK_STREAM);
		CHECK_EQ(write(r.other_end, "abc", 3), 3);
		CALL("late_increment", 1, adsmVal(SPIN), adsmInOut((unsigned *)object), adsmVal(0u));
		CHECK(!pthread_create(&r.thread, NULL, receive_and_leave, &r));
		end(&r);
		SYNC();
		verify();
	}
}

static void *write_and_leave(void *arg)
{
	int null = open("/dev/null", O_WRONLY);

	CHECK(null >= 0);
	if (!sigsetjmp(out, 1)) {
		CHECK(signal(SIGPIPE, leave) != SIG_ERR);
		CHECK_EQ(write(null, object, N), N);
		CHECK(!"the call went on");
	}
	CHECK_NULL(adsmAlloc(0), EINVAL);	/* this thread's first failure */
	return NULL;
}

/* Left while bytes are fetched for an output: what fails afterwards still has its sentence. */
static void left_in_fetch(void)
{
	pthread_t thread;
	unsigned *other;

	trace();
	make();
	other = words(1, 0);
	CALL("increment", 1, adsmInOut(other), adsmVal(1u));
	CHECK_EQ(*other, 1);	/* that much is known: no call runs any more */
	CHECK(!pthread_create(&thread, NULL, write_and_leave, NULL));
	CHECK(!pthread_join(thread, NULL));
	verify();
}

static void *unreadable;

static void *copy_and_leave(void *arg)
{
	memcpy(object + 100, unreadable, 150000);
	CHECK(!"the copy went on");
	return NULL;
}

/* A bulk copy is an input too: its thread ends in the handler of a fault at its source. */
static void left_in_copy(void)
{
	pthread_t thread;

	by_exit = true;
	exit_once();
	make();
	unreadable = mmap(NULL, 150000, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(unreadable != MAP_FAILED);
	CHECK(signal(SIGSEGV, leave) != SIG_ERR);
	CHECK(!pthread_create(&thread, NULL, copy_and_leave, NULL));
	CHECK(!pthread_join(thread, NULL));
	CHECK(signal(SIGSEGV, SIG_DFL) != SIG_ERR);
	verify();
}

static pid_t child = -1;

static void fork_here(int sig)
{
	child = fork();
}

static void *receive_in_both(void *arg)
{
	struct receiver *r = arg;

	receive(r);
	CHECK_EQ(r->result, -1);
	CHECK_EQ(r->error, EINTR);
	if (!child)
		_exit(0);
	return NULL;
}

/* A handler forks, and the call returns in both processes: the input is the parent's. */
static void forked(void)
{
	struct sigaction action = { .sa_handler = fork_here };
	struct receiver r;
	int status;

	CHECK(!sigaction(SIGUSR1, &action, NULL));
	make();
	prepare(&r, object + 100, 70000, SOCK_STREAM);
	start_as(&r, receive_in_both);
	CHECK_EQ(object[99], want[99]);
	CHECK(!pthread_kill(r.thread, SIGUSR1));
	end(&r);
	CHECK(child > 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	verify();
}

/* What a hole lacks cannot be fetched in the end: the call fails, and nothing is made up. */
static void failed_hole(void)
{
	struct receiver r;

	set("wrap", "fail=3,once,ops=to_host");
	make();
	start(&r, object + 100, 300, SOCK_STREAM);
	object[0] = want[0] = 1;	/* two transfers: before it and behind */
	CHECK(!shutdown(r.other_end, SHUT_WR));
	end(&r);
	CHECK_EQ(r.result, -1);
	CHECK_EQ(r.error, EIO);
	verify();
}

/* The first block cannot be fetched for its other bytes: what has come to the next ones is there all the same. */
static void failed_block(void)
{
	static char bytes[100000];
	int fd = memfd_create("bytes", 0);
	size_t next;

	if (!rolling())
		skip("an object is one block");
	set("wrap", "fail=2,once,ops=to_host");
	memset(bytes, 9, sizeof(bytes));
	CHECK_EQ(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	make();
	CHECK_EQ(object[70000], want[70000]);	/* one of these blocks has been fetched before */
	next = info(object).block_size;
	CHECK_EQ(pread(fd, object + 100, sizeof(bytes), 0), -1);
	CHECK_EQ(errno, EIO);
	memset(want + next, 9, 100 + sizeof(bytes) - next);
	verify();
}

static int handler_fd;

static void receive_here(int sig)
{
	CHECK_EQ(read(handler_fd, object + 90, 10), 5);
}

/* A signal handler reads into bytes beside those that the call it interrupts waits for, in one block. */
static void nested(void)
{
	struct sigaction action = { .sa_handler = receive_here, .sa_flags = SA_RESTART };
	struct receiver r;
	int ends[2];

#if defined(__SANITIZE_THREAD__)
	skip("ThreadSanitizer keeps signals until the call returns");
#endif
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	CHECK(!pipe(ends));
	CHECK_EQ(write(ends[1], "inner", 5), 5);
	handler_fd = ends[0];
	make();
	start(&r, object + 100, 70000, SOCK_STREAM);
	CHECK(!pthread_kill(r.thread, SIGUSR1));
	for (size_t unread = 5; unread;) {
		int n;

		CHECK(!syscall(SYS_ioctl, ends[0], 0x541B /* FIONREAD */, &n));
		unread = (size_t)n;
	}
	memcpy(want + 90, "inner", 5);
	deliver(&r, "outer", 5);
	verify();
}

/* The object is freed while a thread waits for input into it: the program's mistake, but the library must survive
 * it. */
static void freed(void)
{
	struct receiver r;
	unsigned char *other;

	make();
	start(&r, object + 100, 70000, SOCK_STREAM);
	CHECK_OK(adsmFree(object));
	other = alloc(N);
	CHECK_EQ(write(r.other_end, "x", 1), 1);
	CHECK(!pthread_join(r.thread, NULL));
	CHECK_EQ(r.result, 1);
	CHECK_OK(adsmFree(other));
	make();
	verify();
}

/* More of them at the same time than the room that is reserved first. */
static void many(void)
{
	enum { MANY = 400 };
	static struct receiver r[MANY];

	make();
	for (int i = 0; i < MANY; i++)
		start(&r[i], object + 100 * (size_t)i, 50, SOCK_STREAM);
	increment();
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(object[100 * (size_t)i + 50], want[100 * (size_t)i + 50]);
	for (int i = 0; i < MANY; i++)
		deliver(&r[i], "abc", (size_t)(i % 4) ? (size_t)(i % 4) : 2);
	verify();
}

static const struct conform_case cases[] = {
	CASE("calls", calls),
	CASE("holes", holes),
	CASE("short-input", short_input),
	CASE("nothing", nothing),
	CASE("two", two),
	CASE("datagrams", datagrams),
	CASE("cancelled", cancelled),
	CASE("jumped", jumped),
	CASE("left-at-end", left_at_end),
	FAULT_CASE("left-in-fetch", left_in_fetch),
	FAULT_CASE("left-in-copy", left_in_copy),
	CASE("forked", forked),
	FAULT_CASE("failed-hole", failed_hole),
	FAULT_CASE("failed-block", failed_block),
	CASE("nested", nested),
	CASE("freed", freed),
	CASE("many", many),
};

CONFORM_MAIN(cases)
