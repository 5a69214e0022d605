/* SPDX-License-Identifier: MIT */
/*
 * left.c - calls that wait for input into shared memory and are left by a jump which no wrapper need see: what was to
 * come must not be waited for for ever. And calls that only look as if they were left.
 */
#include <aio.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "../sanitizers.h"
#include "conform.h"

#define N 20000u	/* bytes of the object */
#define AT 100u		/* where input goes, and how much at most */
#define SIZE 9000u

static unsigned char *object;
static unsigned char want[N];
static int ends[2];

/* ---- ways out of a signal handler */

enum jump_kind { SETCONTEXT, BUILTIN, EDITED, SIGLONGJMP, N_JUMP_KINDS };

static enum jump_kind jump_kind;
static ucontext_t context;
static void *builtin[5];
static sigjmp_buf buf;
static volatile bool gone;

/* The handler returns, but to other code, as those of some runtimes do. */
static void edit(ucontext_t *interrupted)
{
#if defined(__x86_64__)
	static const int kept[] = { REG_RIP, REG_RSP, REG_RBP, REG_RBX, REG_R12, REG_R13, REG_R14, REG_R15 };

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		interrupted->uc_mcontext.gregs[kept[i]] = context.uc_mcontext.gregs[kept[i]];
	interrupted->uc_mcontext.gregs[REG_RAX] = 0;
#else
	memcpy(interrupted->uc_mcontext.regs + 19, context.uc_mcontext.regs + 19, 12 * sizeof(long));
	interrupted->uc_mcontext.regs[0] = 0;
	interrupted->uc_mcontext.sp = context.uc_mcontext.sp;
	interrupted->uc_mcontext.pc = context.uc_mcontext.pc;
#endif
}

/* AddressSanitizer forgets frames that longjmp() leaves, and no others. */
static void forget_frames(void)
{
#if WITH_ASAN
	void __asan_handle_no_return(void);

	__asan_handle_no_return();
#endif
}

static void jump(int sig, siginfo_t *info, void *interrupted)
{
	gone = true;
	forget_frames();
	switch (jump_kind) {
	case SETCONTEXT:
		setcontext(&context);
		break;
	case BUILTIN:
		__builtin_longjmp(builtin, 1);
		break;
	case EDITED:
		edit(interrupted);
		break;
	default:
		siglongjmp(buf, 1);
	}
}

static void unblock(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(!pthread_sigmask(SIG_UNBLOCK, &set, NULL));
}

/* Run @call, which is left by a jump. */
static __attribute__((noinline)) void run_left(void (*call)(void))
{
	gone = false;
	if (jump_kind == BUILTIN) {
		if (!__builtin_setjmp(builtin))
			call();
		unblock();
	} else if (jump_kind == SIGLONGJMP) {
		if (!sigsetjmp(buf, 1))
			call();
	} else {
		CHECK(!getcontext(&context));
		if (!gone)
			call();
	}
	CHECK(gone);
}

/* ---- the sender of the signal: once the thread sleeps */

struct sender {
	pid_t tid;
	pthread_t of, thread;
	_Atomic bool *before;		/* set first; NULL: nothing is */
};

static void *send_signal(void *arg)
{
	const struct sender *s = arg;

	while ((s->before && !atomic_load(s->before)) || !asleep(s->tid))
		sched_yield();
	CHECK(!pthread_kill(s->of, SIGUSR1));
	return NULL;
}

static _Atomic bool waits;

static void begin_sender(struct sender *s)
{
	*s = (struct sender){ .tid = (pid_t)syscall(SYS_gettid), .of = pthread_self(), .before = &waits };
	atomic_store(&waits, false);
	CHECK(!pthread_create(&s->thread, NULL, send_signal, s));
}

static void handle(void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

	if (WITH_TSAN)
		skip("ThreadSanitizer keeps signals until the call returns");
	CHECK(!sigaction(SIGUSR1, &action, NULL));
}

/* ---- the object */

static void make(void)
{
	object = alloc(N);
	for (size_t i = 0; i < N; i++)
		object[i] = want[i] = (unsigned char)(i % 251);
}

static void increment(void)
{
	CALL("increment_bytes", N, adsmInOut(object), adsmVal(N));
	SYNC();
	for (size_t i = 0; i < N; i++)
		want[i]++;
}

static void check_bytes(void)
{
	for (size_t i = 0; i < N; i++)
		CHECK_AT(object[i], i, want[i]);
}

/* Kernels' bytes reach the CPU, the CPU's the kernels, and a later call has the range. */
static void verify(void)
{
	increment();
	check_bytes();
	for (size_t i = 0; i < N; i += 7)
		object[i] = want[i] = (unsigned char)(3 * i);
	increment();
	check_bytes();
	CHECK_EQ(write(ends[1], "0123456789", 10), 10);
	CHECK_EQ(read(ends[0], object + AT, SIZE), 10);
	memcpy(want + AT, "0123456789", 10);
	check_bytes();
	increment();
	check_bytes();
	CHECK_OK(adsmFree(object));
}

/* ---- every call that waits */

static int packets[2], queue;
static mqd_t messages;
static FILE *stream;

static void by_read(void)
{
	atomic_store(&waits, true);
	read(ends[0], object + AT, SIZE);
}

static void by_readv(void)
{
	struct iovec vector[] = { { object + AT, 10 }, { object + 5000, 100 } };

	atomic_store(&waits, true);
	readv(ends[0], vector, 2);
}

static void by_recv(void)
{
	atomic_store(&waits, true);
	recv(packets[0], object + AT, SIZE, 0);
}

static void by_recvfrom(void)
{
	struct sockaddr_storage name;
	socklen_t length = sizeof(name);

	atomic_store(&waits, true);
	recvfrom(packets[0], object + AT, SIZE, 0, (struct sockaddr *)&name, &length);
}

static void by_recvmsg(void)
{
	struct iovec vector[] = { { object + AT, 10 }, { object + 5000, 100 } };
	struct msghdr header = { .msg_iov = vector, .msg_iovlen = 2, .msg_control = object + 9000,
				 .msg_controllen = 200 };

	atomic_store(&waits, true);
	recvmsg(packets[0], &header, 0);
}

static void by_recvmmsg(void)
{
	struct iovec vector[] = { { object + AT, 10 }, { object + 5000, 100 } };
	struct mmsghdr headers[2] = { { .msg_hdr = { .msg_iov = vector, .msg_iovlen = 1 } },
				      { .msg_hdr = { .msg_iov = vector + 1, .msg_iovlen = 1 } } };

	atomic_store(&waits, true);
	recvmmsg(packets[0], headers, 2, 0, NULL);
}

static void by_fread(void)
{
	atomic_store(&waits, true);
	fread(object + AT, 1, SIZE, stream);
}

static void by_msgrcv(void)
{
	atomic_store(&waits, true);
	msgrcv(queue, object + 96, SIZE, 0, 0);
}

static void by_mq_receive(void)
{
	atomic_store(&waits, true);
	mq_receive(messages, (char *)object + AT, SIZE, NULL);
}

/* Arguments so large that they are no copies. */
static void by_poll(void)
{
	struct pollfd *fds = (struct pollfd *)(object + AT + 4);

	for (size_t i = 0; i < 1000; i++)
		fds[i] = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	memcpy(want + AT + 4, fds, 1000 * sizeof(*fds));
	atomic_store(&waits, true);
	poll(fds, 1000, -1);
}

static void by_ppoll(void)
{
	struct pollfd *fds = (struct pollfd *)(object + AT + 4);

	fds[0] = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	memcpy(want + AT + 4, fds, sizeof(*fds));
	atomic_store(&waits, true);
	ppoll(fds, 1, NULL, NULL);
}

static void by_pselect(void)
{
	fd_set *set = (fd_set *)(object + AT + 4);

	memset(set, 0, sizeof(*set));
	FD_SET(ends[0], set);
	memcpy(want + AT + 4, set, sizeof(*set));
	atomic_store(&waits, true);
	pselect(ends[0] + 1, set, NULL, NULL, NULL, NULL);
}

static void (*const blocking[])(void) = {
	by_read, by_readv, by_recv, by_recvfrom, by_recvmsg, by_recvmmsg, by_fread, by_msgrcv, by_mq_receive, by_poll,
	by_ppoll, by_pselect,
};

static void open_all(void)
{
	struct mq_attr attributes = { .mq_maxmsg = 1, .mq_msgsize = 8192 };
	char name[40];
	int bytes[2];

	CHECK(!pipe(ends) && !pipe(bytes) && !socketpair(AF_UNIX, SOCK_DGRAM, 0, packets));
	stream = fdopen(bytes[0], "r");
	CHECK(stream);
	/* If the system has none of these, the calls fail immediately. */
	queue = msgget(IPC_PRIVATE, 0600);
	snprintf(name, sizeof(name), "/left-%d", (int)getpid());
	messages = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attributes);
	if (messages >= 0)
		CHECK(!mq_unlink(name));
}

static bool can(void (*call)(void))
{
	return !(call == by_msgrcv && queue < 0) && !(call == by_mq_receive && messages < 0);
}

/* Each call, left in each way, into bytes that the CPU has written, and into such as only the device has. */
static void calls(void)
{
	struct sender sender;

	handle(jump, 0);
	open_all();
	for (jump_kind = 0; jump_kind < N_JUMP_KINDS; jump_kind++)
		for (size_t i = 0; i < 2 * sizeof(blocking) / sizeof(blocking[0]); i++) {
			if (!can(blocking[i / 2]))
				continue;
			make();
			if (i % 2)
				increment();
			begin_sender(&sender);
			run_left(blocking[i / 2]);
			CHECK(!pthread_join(sender.thread, NULL));
			verify();
		}
	if (queue >= 0)
		CHECK(!msgctl(queue, IPC_RMID, NULL));
}

/* ---- what has come stays, where that can be told */

static void by_recv_all(void)
{
	atomic_store(&waits, true);
	recv(packets[0], object + AT, SIZE, MSG_WAITALL);
}

static void kept(void)
{
	struct sender sender;

	handle(jump, 0);
	open_all();
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, packets));
	for (jump_kind = 0; jump_kind < N_JUMP_KINDS; jump_kind++)
		for (int both = 0; both < 2; both++) {
			make();
			if (both) {
				increment();
				check_bytes();
			}
			CHECK_EQ(write(packets[1], "abcdefg", 7), 7);
			memcpy(want + AT, "abcdefg", 7);
			begin_sender(&sender);
			run_left(by_recv_all);
			CHECK(!pthread_join(sender.thread, NULL));
			verify();
		}
}

/* A call reads the block: both sides have what has come, or both have what was there. */
static void used(void)
{
	struct sender sender;
	unsigned *to;

	handle(jump, 0);
	open_all();
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, packets));
	to = words(1, 0);
	for (jump_kind = 0; jump_kind < N_JUMP_KINDS; jump_kind++) {
		make();
		increment();
		check_bytes();
		CALL("late_copy", 1, adsmVal(SPIN), adsmIn((unsigned *)object), adsmOut(to), adsmVal(1u));
		CHECK_EQ(write(packets[1], "abcdefg", 7), 7);
		begin_sender(&sender);
		run_left(by_recv_all);
		CHECK(!pthread_join(sender.thread, NULL));
		SYNC();
		if (object[AT] == 'a')
			memcpy(want + AT, "abcdefg", 7);
		check_bytes();
		verify();
	}
	CHECK_OK(adsmFree(to));
}

/* ---- the first that the thread does after the jump is a call that writes a few of these bytes */

#define FEW 200u	/* where */

static int one_child(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid)
		_exit(5);
	return pid;
}

static void by_eventfd_read(void *p)
{
	int fd = eventfd(0x11223344, 0);

	CHECK(!eventfd_read(fd, p) && !close(fd));
}

static void by_getentropy(void *p)
{
	CHECK(!getentropy(p, 8));
}

#if __GLIBC_PREREQ(2, 36)
static void by_arc4random_buf(void *p)
{
	arc4random_buf(p, 8);
}
#endif

static void by_wait4(void *p)
{
	CHECK(wait4(one_child(), p, 0, NULL) > 0);
}

static void by_waitpid(void *p)
{
	CHECK(waitpid(one_child(), p, 0) > 0);
}

static void by_waitid(void *p)
{
	CHECK(!waitid(P_PID, (id_t)one_child(), p, WEXITED));
}

static void by_ioctl(void *p)
{
	CHECK(!ioctl(ends[0], FIONREAD, p));
}

static void by_timer_create(void *p)
{
	timer_t timer;

	CHECK(!timer_create(CLOCK_MONOTONIC, NULL, p));
	memcpy(&timer, p, sizeof(timer));
	CHECK(!timer_delete(timer));
}

static void by_sigaltstack(void *p)
{
	CHECK(!sigaltstack(NULL, p));
}

static void by_madvise(void *p)
{
	CHECK(!madvise(object + 4096, 4096, MADV_REMOVE));
}

static struct aiocb request;

static void make_request(void *p)
{
	memset(&request, 0, sizeof(request));
	request.aio_fildes = open("/proc/self/exe", O_RDONLY);
	request.aio_lio_opcode = LIO_READ;
	request.aio_buf = p;
	request.aio_nbytes = 8;
	CHECK(request.aio_fildes >= 0);
}

static void end_request(void)
{
	const struct aiocb *const list[] = { &request };

	while (aio_error(&request) == EINPROGRESS)
		aio_suspend(list, 1, NULL);
	CHECK_EQ(aio_return(&request), 8);
	CHECK(!close(request.aio_fildes));
}

static void by_aio_read(void *p)
{
	make_request(p);
	CHECK(!aio_read(&request));
	end_request();
}

static void by_lio_listio(void *p)
{
	struct aiocb *list[] = { &request };

	make_request(p);
	CHECK(!lio_listio(LIO_WAIT, list, 1, NULL));
	end_request();
}

static void (*const writing[])(void *p) = {
	by_eventfd_read, by_getentropy, by_wait4, by_waitpid, by_waitid, by_ioctl, by_timer_create, by_sigaltstack,
	by_madvise, by_aio_read, by_lio_listio,
#if __GLIBC_PREREQ(2, 36)
	by_arc4random_buf,
#endif
};

/* The call that is left lies deeper on the stack than those that follow, with what sanitizers put between. */
static __attribute__((noinline)) void by_deep_read(void)
{
	volatile char deep[16384];

	deep[0] = 0;
	by_read();
	(void)deep[0];
}

/* All of them write other bytes than the device has there. */
static void followed(void)
{
	struct sender sender;

	handle(jump, 0);
	open_all();
	for (jump_kind = BUILTIN; jump_kind <= EDITED; jump_kind++)
		for (size_t i = 0; i < sizeof(writing) / sizeof(writing[0]); i++) {
			const size_t at = writing[i] == by_madvise ? 4096 : FEW;
			const size_t size = writing[i] == by_madvise ? 4096 : sizeof(siginfo_t);

			make();
			increment();
			begin_sender(&sender);
			run_left(by_deep_read);
			writing[i](object + FEW);
			CHECK(!pthread_join(sender.thread, NULL));
			if (!memcmp(object + at, want + at, size))
				FAIL("what call %zu has written is lost", i);
			memcpy(want + at, object + at, size);
			check_bytes();
			verify();
		}
}

/* ---- others touch the same blocks meanwhile */

static void *touch_and_send(void *arg)
{
	struct sender *s = arg;

	while (!atomic_load(s->before) || !asleep(s->tid))
		sched_yield();
	CALL("increment_bytes", N, adsmInOut(object), adsmVal(N));
	SYNC();
	CHECK_EQ(object[AT - 1], (unsigned char)(want[AT - 1] + 1));
	CHECK(!pthread_kill(s->of, SIGUSR1));
	return NULL;
}

/* A block was fetched around the input before it was left. */
static void holed(void)
{
	struct sender s;

	handle(jump, 0);
	open_all();
	for (jump_kind = 0; jump_kind < N_JUMP_KINDS; jump_kind++) {
		make();
		s = (struct sender){ .tid = (pid_t)syscall(SYS_gettid), .of = pthread_self(), .before = &waits };
		atomic_store(&waits, false);
		CHECK(!pthread_create(&s.thread, NULL, touch_and_send, &s));
		run_left(by_read);
		CHECK(!pthread_join(s.thread, NULL));
		for (size_t i = 0; i < N; i++)
			want[i]++;
		verify();
	}
}

/* ---- other threads see it */

static sem_t left_done, end_thread;
static pid_t left_tid;

/* It calls nothing of the library's after the jump. */
static void *leave_and_sleep(void *arg)
{
	struct sender sender;

	begin_sender(&sender);
	run_left(by_read);
	CHECK(!pthread_join(sender.thread, NULL));
	left_tid = sender.tid;
	CHECK(!sem_post(&left_done));
	if (arg)
		CHECK(!sem_wait(&end_thread));
	return NULL;
}

static void others(void)
{
	pthread_t thread;

	handle(jump, 0);
	open_all();
	CHECK(!sem_init(&left_done, 0, 0) && !sem_init(&end_thread, 0, 0));
	for (jump_kind = 0; jump_kind < N_JUMP_KINDS; jump_kind++)
		for (int ended = 0; ended < 2; ended++) {
			make();
			CHECK(!pthread_create(&thread, NULL, leave_and_sleep, ended ? NULL : &thread));
			while (sem_wait(&left_done))
				;
			if (ended)
				CHECK(!pthread_join(thread, NULL));
			while (!ended && !asleep(left_tid))
				sched_yield();
			verify();
			CHECK(!sem_post(&end_thread));
			if (!ended)
				CHECK(!pthread_join(thread, NULL));
			else
				CHECK(!sem_wait(&end_thread));
		}
}

/* ---- not left: a handler on either stack, and other contexts, while the call continues */

#define STACK ((size_t)256 << 10)

static _Atomic bool handled;
static ucontext_t waiting, other;

static void work_beside(void)
{
	CALL("increment_bytes", N, adsmInOut(object), adsmVal(N));
	SYNC();
	for (size_t i = 0; i < N; i++)
		want[i]++;
	CHECK_EQ(object[AT - 1], want[AT - 1]);
	CHECK_EQ(write(ends[1], "x", 1), 1);
	CHECK_EQ(read(ends[0], object + AT - 50, 1), 1);
	want[AT - 50] = 'x';
	CHECK_EQ(object[N - 1], want[N - 1]);
	object[N - 1] = want[N - 1] = 7;
}

static void work_here(int sig, siginfo_t *info, void *interrupted)
{
	work_beside();
	atomic_store(&handled, true);
}

static void switch_away(int sig, siginfo_t *info, void *interrupted)
{
	CHECK(!swapcontext(&waiting, &other));
}

static void come_back(void)
{
	for (;;) {
		work_beside();
		atomic_store(&handled, true);
		CHECK(!swapcontext(&other, &waiting));
	}
}

/* Let the thread be disturbed, do what its disturbance has to bear, and give it its bytes. */
static void *disturb(void *arg)
{
	struct sender *s = arg;

	send_signal(s);
	while (!atomic_load(&handled) || !asleep(s->tid))
		sched_yield();
	CALL("increment_bytes", N, adsmInOut(object), adsmVal(N));
	SYNC();
	for (size_t i = 0; i < N; i++)
		want[i]++;
	CHECK_EQ(object[AT - 1], want[AT - 1]);
	CHECK_EQ(write(packets[1], "abcdefg", 7), 7);
	return NULL;
}

static void be_disturbed(void)
{
	struct sender s = { .tid = (pid_t)syscall(SYS_gettid), .of = pthread_self(), .before = &waits };

	atomic_store(&handled, false);
	atomic_store(&waits, false);
	CHECK(!pthread_create(&s.thread, NULL, disturb, &s));
	atomic_store(&waits, true);
	CHECK_EQ(recv(packets[0], object + AT, SIZE, 0), 7);
	CHECK(!pthread_join(s.thread, NULL));
	memcpy(want + AT, "abcdefg", 7);
	verify();
}

static void disturbed(void)
{
	stack_t stack = { .ss_size = STACK, .ss_sp = malloc(STACK) };

	open_all();
	CHECK(stack.ss_sp && !sigaltstack(&stack, NULL));
	for (int round = 0; round < 2; round++) {
		handle(work_here, SA_RESTART | (round ? SA_ONSTACK : 0));
		make();
		be_disturbed();
	}
	CHECK(!sigaltstack(&(stack_t){ .ss_flags = SS_DISABLE }, NULL));
	free(stack.ss_sp);
}

static ucontext_t back;

static void wait_here(void)
{
	make();
	be_disturbed();
}

/* The call waits on the thread's stack, or on one of its own. */
static void switched_with(void *stack, bool there)
{
	handle(switch_away, SA_RESTART);
	CHECK(!getcontext(&other));
	other.uc_stack.ss_sp = stack;
	other.uc_stack.ss_size = STACK;
	other.uc_link = &back;
	if (there) {
		ucontext_t waits_there;

		CHECK(!getcontext(&waits_there));
		waits_there.uc_stack.ss_sp = malloc(STACK);
		waits_there.uc_stack.ss_size = STACK;
		waits_there.uc_link = &back;
		CHECK(waits_there.uc_stack.ss_sp);
		makecontext(&waits_there, wait_here, 0);
		makecontext(&other, come_back, 0);
		CHECK(!swapcontext(&back, &waits_there));
		free(waits_there.uc_stack.ss_sp);
		return;
	}
	makecontext(&other, come_back, 0);
	wait_here();
}

static void contexts(void)
{
	static char elsewhere[STACK];
	char here[STACK];

	open_all();
	if (WITH_ASAN)
		skip("AddressSanitizer does not know of these stacks");
	switched_with(elsewhere, false);
	switched_with(elsewhere, true);
	/* Part of this thread's own stack, above the call. */
	switched_with(here, false);
	switched_with(here, true);
}

static const struct conform_case cases[] = {
	CASE("calls", calls),
	CASE("kept", kept),
	CASE("used", used),
	CASE("followed", followed),
	CASE("holed", holed),
	CASE("others", others),
	CASE("disturbed", disturbed),
	CASE("contexts", contexts),
};

CONFORM_MAIN(cases)
