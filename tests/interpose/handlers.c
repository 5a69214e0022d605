/* SPDX-License-Identifier: MIT */
/*
 * handlers.c - handlers, hosts that insist on being first, masks of calls and cancellation, while objects are used: the
 * program's come as they would, and the library serves its own.
 */
#include "shut.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static volatile uintptr_t found_address;

static void on_crash(int sig, siginfo_t *info, void *context)
{
	found_address = (uintptr_t)info->si_addr;
	siglongjmp(left, 1);
}

/* A fault elsewhere goes to the program's handler, and never stops the library from serving its own. */
static void handler_chains(void)
{
	struct sigaction action = { .sa_sigaction = on_crash, .sa_flags = SA_SIGINFO };

	for (int round = 0; round < 2; round++) {
		/* Found at the first start; set while the library runs, the second time. */
		CHECK(!sigaction(SIGSEGV, &action, NULL));
		open_object();
		for (volatile unsigned i = 0; i < 10; i++) {
			touch_object();
			shut();
			found_address = 0;
			if (!sigsetjmp(left, 1)) {
				touch_write(WILD + i);
				FAIL("a wild write went well");
			}
			CHECK_EQ(found_address, (uintptr_t)(WILD + i));
		}
		touch_object();
	}
}

static void *use(void *unused)
{
	sigset_t mask;

	shut();
	touch_object();
	sigfillset(&mask);
	CHECK(!pthread_sigmask(SIG_BLOCK, &mask, NULL));
	shut();
	touch_object();
	CHECK(!pthread_sigmask(SIG_BLOCK, NULL, &mask));
	CHECK_EQ(sigismember(&mask, SIGSEGV), 1);
	return NULL;
}

/* A thread that has every signal blocked uses objects like any other. */
static void blocked_threads(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t mask, got;

	sigfillset(&mask);
	CHECK(!pthread_attr_init(&attr));
	CHECK(!pthread_attr_setsigmask_np(&attr, &mask));
	CHECK(!pthread_attr_getsigmask_np(&attr, &got));
	CHECK(sigismember(&got, SIGSEGV) == 1 && !sigismember(&got, SIGSTKFLT));
	CHECK(!pthread_sigmask(SIG_BLOCK, &mask, NULL));
	open_object();
	touch_object();
	CHECK(!pthread_create(&thread, NULL, use, NULL));
	CHECK(!pthread_join(thread, NULL));
	CHECK(!pthread_create(&thread, &attr, use, NULL));
	CHECK(!pthread_join(thread, NULL));
	CHECK(!pthread_attr_destroy(&attr));
	shut();
	touch_object();
}

/* ---- handlers that are left */

static jmp_buf plain_left;
static volatile unsigned n_left;

static void on_left(int sig)
{
	n_left++;
	siglongjmp(left, 1);
}

/* That keeps the mask as it is: so it is set first. */
static void on_left_plain(int sig)
{
	sigset_t mask;

	n_left++;
	sigemptyset(&mask);
	sigaddset(&mask, SIGSEGV);
	sigprocmask(SIG_UNBLOCK, &mask, NULL);
	longjmp(plain_left, 1);
}

static void on_left_blocked(int sig)
{
	n_left++;
	longjmp(plain_left, 1);
}

__attribute__((noinline)) static void crash_deep(unsigned depth)
{
	volatile char room[500];

	room[depth] = 0;
	if (depth)
		crash_deep(depth - 1);
	else
		touch_write(WILD);
	CHECK(!room[depth]);
}

static void leave_100(int flags)
{
	stack_t none = { .ss_flags = SS_DISABLE };
	struct sigaction action = { .sa_handler = on_left, .sa_flags = flags };
	sigset_t mask;

	use_stack();
	CHECK(!sigaction(SIGSEGV, &action, NULL));
	n_left = 0;
	for (volatile unsigned i = 0; i < 100; i++) {
		/* Deeper and less deep than before. */
		if (!sigsetjmp(left, 1))
			crash_deep(i * 7 % 20);
		CHECK_EQ(n_left, i + 1);
		CHECK(!sigprocmask(SIG_BLOCK, NULL, &mask));
		CHECK_EQ(sigismember(&mask, SIGSEGV), 0);
		touch_object();
		if (i % 10 == 0)
			shut();
	}
	action.sa_handler = on_left_plain;
	CHECK(!sigaction(SIGSEGV, &action, NULL));
	for (volatile unsigned i = 0; i < 100; i++) {
		if (!setjmp(plain_left))
			crash_deep(i * 7 % 20);
		CHECK_EQ(n_left, 101 + i);
		touch_object();
		if (i % 10 == 0)
			shut();
	}
	/* If nothing restores the mask, it stays as the handler had it. */
	action.sa_handler = on_left_blocked;
	action.sa_flags |= SA_NODEFER;
	CHECK(!sigaction(SIGSEGV, &action, NULL));
	for (volatile unsigned i = 0; i < 100; i++) {
		if (!setjmp(plain_left))
			crash_deep(i * 7 % 20);
		CHECK_EQ(n_left, 201 + i);
		touch_object();
		if (i % 10 == 0)
			shut();
	}
	CHECK(!sigaltstack(&none, NULL));
	free(stack);
}

static void handlers_left(void)
{
	not_with_tsan();
	open_object();
	leave_100(0);
	leave_100(SA_ONSTACK);
	leave_100(SA_NODEFER);
	leave_100(SA_NODEFER | SA_ONSTACK);
}

/* ---- hosts that insist on being first: they know the system call */

struct kernel_action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

static struct kernel_action behind;	/* what the host found */
static volatile unsigned n_first, n_own;

static void host(int sig, siginfo_t *info, void *context)
{
	uintptr_t address = (uintptr_t)info->si_addr;

	n_first++;
	if (info->si_code > 0 && address >= (uintptr_t)WILD && address < (uintptr_t)(WILD + 100)) {
		n_own++;
		siglongjmp(left, 1);
	}
	behind.handler(sig, info, context);
}

static void host_that_asks(int sig, siginfo_t *info, void *context)
{
	n_first++;
	errno = 1234;
	/* The same fault as another signal is not the library's. */
	if (adsmHandleFault(SIGBUS, info, context))
		_exit(9);
	if (adsmHandleFault(sig, info, context)) {
		if (errno != 1234)
			_exit(8);
		return;
	}
	if (errno != 1234)
		_exit(8);
	n_own++;
	siglongjmp(left, 1);
}

static void take(void (*handler)(int, siginfo_t *, void *), unsigned long flags)
{
	struct kernel_action action;

	/* Its way back from a handler is the C library's. */
	CHECK(!syscall(SYS_rt_sigaction, SIGSEGV, NULL, &behind, 8));
	action = behind;
	action.handler = handler;
	action.flags = (behind.flags & ~(unsigned long)(SA_NODEFER | SA_RESETHAND)) | SA_SIGINFO | SA_ONSTACK | flags;
	action.mask = UINT64_MAX;
	CHECK(!syscall(SYS_rt_sigaction, SIGSEGV, &action, NULL, 8));
}

static void with_host(void (*handler)(int, siginfo_t *, void *), unsigned long flags)
{
	unsigned before;

	take(handler, flags);
	n_first = n_own = 0;
	for (volatile unsigned i = 0; i < 20; i++) {
		shut();
		before = n_first;
		touch_object();
		CHECK(n_first > before);
		if (!sigsetjmp(left, 1))
			touch_write(WILD + i);
		CHECK_EQ(n_own, i + 1);
	}
	/* It waits for a kernel, too. */
	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(object), adsmVal(N));
	rounds++;
	touch_object();
	SYNC();
}

static volatile unsigned n_last;

static void on_last(int sig, siginfo_t *info, void *context)
{
	n_last++;
	if (adsmHandleFault(sig, info, context))
		_exit(8);
}

static void hosts(void)
{
	struct sigaction last = { .sa_sigaction = on_last, .sa_flags = SA_SIGINFO };
	siginfo_t info = { .si_signo = SIGSEGV, .si_code = SEGV_ACCERR };
	ucontext_t context;

	use_stack();
	/* Before the library has started nothing is its own. */
	memset(&context, 0, sizeof(context));
	CHECK_EQ(adsmHandleFault(SIGSEGV, &info, &context), 0);
	CHECK_EQ(adsmHandleFault(SIGSEGV, NULL, NULL), 0);
	CHECK(!sigaction(SIGSEGV, &last, NULL));
	raise(SIGSEGV);
	CHECK_EQ(n_last, 1);
	open_object();
	/* Last in the line: the library has seen it before. */
	touch_object();
	raise(SIGSEGV);
	CHECK_EQ(n_last, 2);
	info.si_code = SI_USER;
	info.si_addr = object;
	CHECK_EQ(adsmHandleFault(SIGSEGV, &info, &context), 0);
	CHECK_EQ(adsmHandleFault(SIGBUS, &info, &context), 0);
	with_host(host, 0);
	with_host(host_that_asks, 0);
	with_host(host_that_asks, SA_NODEFER);
	/* An action that is set now is the first one again, as it would be. */
	CHECK(!sigaction(SIGSEGV, &last, NULL));
	n_first = 0;
	shut();
	touch_object();
	raise(SIGSEGV);
	CHECK_EQ(n_first, 0);
	CHECK_EQ(n_last, 3);
}

/* ---- calls that have a mask of their own */

static volatile unsigned n_touched, n_segv;

static void on_touch(int sig)
{
	n_touched++;
	shut();
	touch_object();
}

static void on_segv(int sig)
{
	n_segv++;
}

static sigset_t all_but(int a, int b)
{
	sigset_t mask;

	sigfillset(&mask);
	sigdelset(&mask, a);
	sigdelset(&mask, b);
	return mask;
}

static int call_sigsuspend(const sigset_t *mask)
{
	return sigsuspend(mask);
}

static int call_ppoll(const sigset_t *mask)
{
	return ppoll(NULL, 0, NULL, mask);
}

static int call_pselect(const sigset_t *mask)
{
	return pselect(0, NULL, NULL, NULL, NULL, mask);
}

static int call_epoll_pwait(const sigset_t *mask)
{
	struct epoll_event event;
	int fd = epoll_create1(0), result = epoll_pwait(fd, &event, 1, -1, mask), error = errno;

	close(fd);
	errno = error;
	return result;
}

static int call_epoll_pwait2(const sigset_t *mask)
{
	const struct timespec timeout = { 100, 0 };
	struct epoll_event event;
	int fd = epoll_create1(0), result = epoll_pwait2(fd, &event, 1, &timeout, mask), error = errno;

	close(fd);
	errno = error;
	return result;
}

static int (*const waits[])(const sigset_t *) = {
	call_sigsuspend, call_ppoll, call_pselect, call_epoll_pwait, call_epoll_pwait2,
};

/* The mask of a call that a handler has left by a jump ends with the call. */
static void jump_out(int (*wait)(const sigset_t *), const sigset_t *mask)
{
	const unsigned before = n_segv;
	sigset_t blocked, was;

	signal(SIGUSR2, on_left);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	CHECK(!sigprocmask(SIG_SETMASK, &blocked, &was));
	CHECK(!raise(SIGUSR2));
	if (!sigsetjmp(left, 1))
		wait(mask);
	CHECK(!raise(SIGSEGV));
	CHECK_EQ(n_segv, before + 1);
	CHECK(!sigprocmask(SIG_SETMASK, &was, NULL));
}

/* A handler that runs in such a call uses objects, though the call's mask has SIGSEGV. */
static void masked_calls(void)
{
	struct sigaction action = { .sa_handler = on_touch };
	sigset_t blocked, mask = all_but(SIGUSR1, SIGUSR1), none, now;
	char *const looks[] = { "grep", "-q", "^SigBlk:.*0400$", "/proc/self/status", NULL };
	pid_t child;
	int status;

	not_with_tsan();
	sigfillset(&action.sa_mask);
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	signal(SIGSEGV, on_segv);
	open_object();
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		none = all_but(SIGUSR2, SIGUSR2);
		jump_out(waits[i], &none);
		sigfillset(&blocked);
		CHECK(!sigprocmask(SIG_SETMASK, &blocked, NULL));
		n_touched = n_segv = 0;
		CHECK(!raise(SIGUSR1));
		CHECK_EQ(waits[i](&mask), -1);
		CHECK_EQ(errno, EINTR);
		CHECK_EQ(n_touched, 1);
		/* Sent while blocked: the call that lets it through is interrupted by it. */
		CHECK(!raise(SIGSEGV));
		CHECK_EQ(n_segv, 0);
		none = all_but(SIGSEGV, SIGSEGV);
		CHECK_EQ(waits[i](&none), -1);
		CHECK_EQ(errno, EINTR);
		CHECK_EQ(n_segv, 1);
		CHECK(!sigprocmask(SIG_BLOCK, NULL, &now));
		CHECK_EQ(sigismember(&now, SIGSEGV), 1);
		shut();
		touch_object();
		/* Through another that does not: it stays where it is. */
		CHECK(!raise(SIGSEGV) && !raise(SIGUSR1));
		CHECK_EQ(waits[i](&mask), -1);
		CHECK_EQ(n_touched, 2);
		CHECK_EQ(n_segv, 1);
		sigemptyset(&none);
		CHECK(!sigprocmask(SIG_SETMASK, &none, NULL));
		CHECK_EQ(n_segv, 2);
	}
	sighold(SIGSEGV);
	CHECK(!raise(SIGSEGV));
	CHECK_EQ(sigpause(SIGSEGV), -1);
	CHECK_EQ(errno, EINTR);
	CHECK_EQ(n_segv, 3);
	/* While system() waits; and other handlers are as before. A program that is started gets the mask. */
	signal(SIGINT, on_touch);
	signal(SIGQUIT, SIG_IGN);
	n_touched = 0;
	CHECK_EQ(system("kill -INT $PPID; kill -USR1 $PPID"), 0);
	CHECK_EQ(n_touched, 1);
	CHECK_EQ(system("kill -INT $$"), SIGINT);
	CHECK_EQ(system("kill -QUIT $$; exit 3"), 3 << 8);
	CHECK_EQ(system(NULL), 1);
	CHECK(!posix_spawnp(&child, "grep", NULL, NULL, looks, environ));
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK(!raise(SIGINT));
	CHECK_EQ(n_touched, 2);
	CHECK(signal(SIGQUIT, SIG_DFL) == SIG_IGN && sighold(SIGSEGV) == 0);
	CHECK(!sigprocmask(SIG_BLOCK, NULL, &now));
	CHECK_EQ(sigismember(&now, SIGSEGV), 1);
	CHECK_EQ(sigismember(&now, SIGCHLD), 0);
}

/* Their arguments may be shared memory. */
static void shared_arguments(void)
{
	struct arguments {
		struct sigaction action;
		sigset_t mask;
		struct timespec timeout;
		struct pollfd fds[2];
		fd_set set;
		struct epoll_event events[4];
		sigset_t old;
		unsigned pages[4096];
	} *s = alloc(sizeof(*s));
	struct pollfd *volatile fds = s->fds;	/* or gcc takes it for its first word, under a sanitizer */
	const size_t n = sizeof(*s) / 4;
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 42 };
	int ends[2], fd;

	/* Nothing changes, but the device has it. */
#define SHUT() do { \
	CALL("increment", n, adsmPtr(s), adsmVal(0)); \
	SYNC(); \
} while (0)
	CHECK(!pipe(ends));
	CHECK_EQ(write(ends[1], "x", 1), 1);
	memset(s, 0, sizeof(*s));
	s->action.sa_handler = on_segv;
	SHUT();
	CHECK(!sigaction(SIGSEGV, &s->action, NULL));
	raise(SIGSEGV);
	CHECK_EQ(n_segv, 1);
	SHUT();
	CHECK(!sigaction(SIGSEGV, NULL, &s->action));
	CHECK(s->action.sa_handler == on_segv);
	SHUT();
	CHECK(!sigaction(SIGUSR1, &s->action, NULL));
	SHUT();
	CHECK(!sigaction(SIGUSR1, NULL, &s->action));
	CHECK(s->action.sa_handler == on_segv);
	sigfillset(&s->mask);
	SHUT();
	CHECK(!sigprocmask(SIG_BLOCK, &s->mask, NULL));
	SHUT();
	CHECK(!pthread_sigmask(SIG_BLOCK, NULL, &s->old));
	CHECK_EQ(sigismember(&s->old, SIGSEGV), 1);
	CHECK_EQ(sigismember(&s->old, SIGUSR2), 1);
	s->fds[0] = (struct pollfd){ ends[0], POLLIN, 0 };
	s->fds[1] = (struct pollfd){ ends[1], POLLOUT, 0 };
	s->timeout.tv_sec = 10;
	SHUT();
	CHECK_EQ(ppoll(fds, 2, &s->timeout, &s->mask), 2);
	CHECK_EQ(s->fds[0].revents, POLLIN);
	CHECK_EQ(s->fds[1].revents, POLLOUT);
	CHECK_EQ(s->fds[1].fd, ends[1]);
	FD_SET(ends[0], &s->set);
	FD_SET(ends[1], &s->set);
	SHUT();
	CHECK_EQ(pselect(ends[1] + 1, &s->set, NULL, NULL, &s->timeout, &s->mask), 1);
	CHECK(FD_ISSET(ends[0], &s->set) && !FD_ISSET(ends[1], &s->set));
	fd = epoll_create1(0);
	CHECK(!epoll_ctl(fd, EPOLL_CTL_ADD, ends[0], &event));
	SHUT();
	CHECK_EQ(epoll_pwait(fd, s->events, 4, -1, &s->mask), 1);
	CHECK_EQ(s->events[0].data.u32, 42);
	s->events[0].data.u32 = 0;
	SHUT();
	CHECK_EQ(epoll_pwait2(fd, s->events, 4, &s->timeout, &s->mask), 1);
	CHECK_EQ(s->events[0].data.u32, 42);
	CHECK_EQ(s->timeout.tv_sec, 10);
	/* Where the object ends the system says so. */
	CHECK_EQ(epoll_pwait(fd, (struct epoll_event *)((char *)s + (sizeof(*s) + PAGE - 1) / PAGE * PAGE), 1, 0,
			     NULL), -1);
	CHECK_EQ(errno, EFAULT);
#undef SHUT
}

/* ---- actions that change while others fault */

static volatile bool stop;
static volatile unsigned n_forwarded;

static void on_one(int sig, siginfo_t *info, void *context)
{
	if (info->si_signo == SIGSEGV)
		__atomic_fetch_add(&n_forwarded, 1, __ATOMIC_RELAXED);
}

static void on_other(int sig)
{
	if (sig == SIGSEGV)
		__atomic_fetch_add(&n_forwarded, 1, __ATOMIC_RELAXED);
}

static void *change(void *unused)
{
	struct sigaction one = { .sa_sigaction = on_one, .sa_flags = SA_SIGINFO }, old;
	struct sigaction other = { .sa_handler = on_other, .sa_flags = SA_RESTART };

	while (!stop) {
		CHECK(!sigaction(SIGSEGV, &one, &old));
		CHECK(old.sa_handler == on_other ? !(old.sa_flags & SA_SIGINFO) : old.sa_sigaction == on_one);
		CHECK(!sigaction(SIGSEGV, &other, &old));
		CHECK(old.sa_sigaction == on_one && old.sa_flags & SA_SIGINFO);
	}
	return NULL;
}

static void changes(void)
{
	pthread_t thread;

	not_with_tsan();
	signal(SIGSEGV, on_other);
	open_object();
	CHECK(!pthread_create(&thread, NULL, change, NULL));
	for (unsigned i = 0; i < 2000; i++) {
		raise(SIGSEGV);
		CHECK_EQ(n_forwarded, i + 1);
		if (i % 20 == 0)
			shut();
		touch_object();
	}
	stop = true;
	CHECK(!pthread_join(thread, NULL));
}

/* ---- a system call that is interrupted */

static int ends[2];
static pid_t reader;
static pthread_t reader_thread;

static void await_sleep(void)
{
	while (!asleep(reader))
		sched_yield();
}

static void *interrupt(void *unused)
{
	unsigned before = n_segv;

	await_sleep();
	CHECK(!pthread_kill(reader_thread, SIGSEGV));
	while (n_segv == before)
		sched_yield();
	await_sleep();
	CHECK_EQ(write(ends[1], "x", 1), 1);
	return NULL;
}

/* It continues where the handler's action says. */
static void restarts(void)
{
	struct sigaction action = { .sa_handler = on_segv };
	pthread_t thread;
	char byte;

	not_with_tsan();
	reader = gettid();
	reader_thread = pthread_self();
	CHECK(!pipe(ends));
	open_object();
	for (unsigned i = 0; i < 4; i++) {
		action.sa_flags = i % 2 ? SA_RESTART : 0;
		CHECK(!sigaction(SIGSEGV, &action, NULL));
		CHECK(!pthread_create(&thread, NULL, interrupt, NULL));
		errno = 0;
		CHECK_EQ(read(ends[0], &byte, 1), i % 2 ? 1 : -1);
		CHECK_EQ(errno, i % 2 ? 0 : EINTR);
		if (i % 2 == 0)
			CHECK_EQ(read(ends[0], &byte, 1), 1);
		CHECK(!pthread_join(thread, NULL));
		touch_object();
		shut();
	}
}

static bool is_held(void)
{
	sigset_t mask;

	CHECK(!sigprocmask(SIG_BLOCK, NULL, &mask));
	return sigismember(&mask, SIGSEGV);
}

/* ---- while the library is stopped */

/* A handler that is left before a start leaves SIGSEGV blocked in the kernel's mask, too. */
static void left_while_stopped(void)
{
	not_with_tsan();
	for (volatile unsigned round = 0; round < 2; round++) {
		signal(SIGSEGV, on_left_blocked);
		if (!setjmp(plain_left))
			touch_write(WILD);
		CHECK_EQ(n_left, round + 1);
		open_object();
		touch_object();
		CHECK(is_held());
		CHECK(!sigrelse(SIGSEGV));
		CHECK(!is_held());
		shut();
		touch_object();
		CHECK_OK(adsmFree(object));
		unload();
		CHECK_OK(adsmShutdown());
	}
}

/* ---- vfork() */

static void vfork_with_mask(const sigset_t *mask)
{
	pid_t child = vfork();
	int status;

	if (!child) {
		sigprocmask(SIG_SETMASK, mask, NULL);
		_exit(5);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

static bool has_stand_in(int sig)
{
	struct sigaction action;

	CHECK(!sigaction(sig, NULL, &action));
	return sigismember(&action.sa_mask, SIGSTKFLT);
}

/* SIGSTKFLT in masks is known only to the library. What the child of vfork() does to it is not its parent's. */
static void vfork_with_stand_in(bool in_parent)
{
	struct sigaction action = { .sa_handler = on_segv };
	sigset_t mask;
	pid_t child;
	int status;

	sigemptyset(&mask);
	if (in_parent)
		sigaddset(&mask, SIGSTKFLT);
	action.sa_mask = mask;
	CHECK(!sigaction(SIGUSR2, &action, NULL));
	CHECK(!sigprocmask(SIG_SETMASK, &mask, NULL));
	child = vfork();
	if (!child) {
		sigset_t now;
		bool right;

		sigprocmask(SIG_BLOCK, NULL, &now);
		right = sigismember(&now, SIGSTKFLT) == in_parent;
		sigemptyset(&mask);
		if (!in_parent)
			sigaddset(&mask, SIGSTKFLT);
		action.sa_mask = mask;
		sigaction(SIGUSR2, &action, NULL);
		sigprocmask(SIG_SETMASK, &mask, NULL);
		sigprocmask(SIG_BLOCK, NULL, &now);
		_exit(right && sigismember(&now, SIGSTKFLT) == !in_parent ? 5 : 6);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
	CHECK(!sigprocmask(SIG_BLOCK, NULL, &mask));
	CHECK_EQ(sigismember(&mask, SIGSTKFLT), in_parent);
	CHECK_EQ(has_stand_in(SIGUSR2), in_parent);
}

static pid_t parent;

static void end_child(int sig)
{
	struct sigaction now;

	if (getpid() == parent)
		return;
	sigaction(SIGSEGV, NULL, &now);
	_exit(now.sa_handler == SIG_DFL ? 5 : 6);
}

/* A handler for one signal: the child's signal takes it from the child, and not from its parent. */
static void vfork_and_fault(void)
{
	struct sigaction action = { .sa_handler = end_child, .sa_flags = SA_RESETHAND };
	pid_t child;
	int status;

	parent = getpid();
	CHECK(!sigaction(SIGSEGV, &action, NULL));
	child = vfork();
	if (!child) {
		raise(SIGSEGV);
		_exit(6);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
	CHECK(!sigaction(SIGSEGV, NULL, &action));
	CHECK(action.sa_handler == end_child);
}

/* The child of vfork() sets actions and masks for the program it is about to start. */
static void vforked(void)
{
	struct sigaction action;
	sigset_t mask;
	pid_t child;
	int status;

	open_object();
	signal(SIGSEGV, on_segv);
	child = vfork();
	if (!child) {
		signal(SIGSEGV, SIG_DFL);
		_exit(5);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
	CHECK(!sigaction(SIGSEGV, NULL, &action));
	CHECK(action.sa_handler == on_segv);
	touch_object();
	raise(SIGSEGV);
	CHECK_EQ(n_segv, 1);
	sigfillset(&mask);
	vfork_with_mask(&mask);
	raise(SIGSEGV);
	CHECK_EQ(n_segv, 2);
	CHECK(!is_held());
	sigemptyset(&mask);
	sigaddset(&mask, SIGSEGV);
	vfork_with_mask(&mask);
	raise(SIGSEGV);
	CHECK_EQ(n_segv, 3);
	CHECK(!is_held());
	/* None, where the parent has it blocked. */
	sighold(SIGSEGV);
	sigemptyset(&mask);
	vfork_with_mask(&mask);
	raise(SIGSEGV);
	CHECK_EQ(n_segv, 3);
	CHECK(is_held());
	sigrelse(SIGSEGV);
	CHECK_EQ(n_segv, 4);
	for (int i = 0; i < 4; i++)
		vfork_with_stand_in(i % 2);
	vfork_and_fault();
}

/* ---- cancellation */

static adsmModule *module;
static unsigned *array;
static unsigned plain[N];

static bool enter_init(void) { return !adsmInit(); }
static bool enter_load(void) { return (module = adsmModuleLoad(module_path("conform"))); }
static bool enter_get(void) { return adsmKernelGet(module, "increment"); }
static bool enter_alloc(void) { return (array = adsmAlloc(N * sizeof(*array))); }
static bool enter_memset(void) { return !adsmMemset(array, 0, N * sizeof(*array)); }
static bool enter_call(void)
{
	const adsmDim grid = { (N + 255) / 256, 1, 1 }, block = { 256, 1, 1 };

	return !adsmCall(adsmKernelGet(module, "increment"), grid, block, adsmPtr(array), adsmVal(N));
}
static bool enter_sync(void) { return !adsmSync(); }
static bool enter_touch(void) { return array[N - 1]++ < 9; }
static bool enter_memcpy(void) { return memcpy(plain, array, sizeof(plain)) && plain[N - 1] > 0; }
static bool enter_stats(void)
{
	adsmStats now;

	return !adsmStatsGet(&now, sizeof(now)) && !adsmStatsReset();
}
static bool enter_assign(void) { return !adsmAssign(array, adsmKernelGet(module, "increment"), ADSM_ACCESS_INOUT); }
static bool enter_free(void) { return !adsmFree(array); }
static bool enter_unload(void) { return !adsmModuleUnload(module); }
static bool enter_shutdown(void) { return !adsmShutdown(); }

static bool (*const entries[])(void) = {
	enter_init, enter_load, enter_get, enter_alloc, enter_memset, enter_call, enter_sync, enter_call, enter_touch,
	enter_call, enter_memcpy, enter_assign, enter_stats, enter_free, enter_unload, enter_shutdown,
};
static volatile bool returned;

static void *enter_cancelled(void *entry)
{
	CHECK(!pthread_cancel(pthread_self()));
	returned = (*(bool (*const *)(void))entry)();
	pthread_testcancel();
	return NULL;
}

/* Nothing of the library's is a point of cancellation: it would keep a lock, or half of what it does. */
static void cancelled_entries(void)
{
	pthread_t thread;
	void *result;

	for (unsigned round = 0; round < 2; round++) {
		for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
			returned = false;
			CHECK(!pthread_create(&thread, NULL, enter_cancelled, (void *)(uintptr_t)&entries[i]));
			CHECK(!pthread_join(thread, &result));
			if (!returned)
				printf("entry %zu\n", i);
			CHECK(result == PTHREAD_CANCELED);
			CHECK(returned);
		}
	}
	open_object();
	touch_object();
}

static const struct conform_case cases[] = {
	FAULT_CASE("handler-chains", handler_chains),
	FAULT_CASE("blocked-threads", blocked_threads),
	FAULT_CASE("handlers-left", handlers_left),
	FAULT_CASE("hosts", hosts),
	FAULT_CASE("masked-calls", masked_calls),
	CASE("shared-arguments", shared_arguments),
	FAULT_CASE("changes", changes),
	FAULT_CASE("restarts", restarts),
	FAULT_CASE("left-while-stopped", left_while_stopped),
	FAULT_CASE("vforked", vforked),
	CASE("cancelled-entries", cancelled_entries),
};
CONFORM_MAIN(cases)
