/* SPDX-License-Identifier: MIT */
/* signals.c - SIGSEGV belongs to the application too: its handlers, its masks, and hosts that insist on being first. */
#include "conform.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define N 20000u
#define WILD ((volatile unsigned *)0x5eed0)

typedef void handler_function(int);
handler_function *bsd_signal(int sig, handler_function *handler);

/* ---- an object whose next touch faults */

static unsigned *object;
static unsigned rounds;

static void shut(void)
{
	CALL("increment", N, adsmPtr(object), adsmVal(N));
	SYNC();
	rounds++;
}

static void open_object(void)
{
	object = words(N, 0);
	rounds = 0;
	shut();
}

static void touch_object(void)
{
	CHECK_EQ(object[N - 1], N - 1 + rounds);
}

/* ---- what a child sees; with the library started it must be the same */

enum start { NEVER, BEFORE, AFTER, N_STARTS };	/* the library starts: …, before the child's action is set, after */

struct seen {
	int n, status;
	uint64_t notes[256];
};

static struct seen *seen;
static bool started;

/* The function of that name: without the library, the C library's own. */
static void *function(const char *name)
{
	static void *libc;
	void *found;

	if (!libc)
		libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	found = dlsym(started ? RTLD_DEFAULT : libc, name);
	if (!found)
		_exit(6);
	return found;
}

#define F(name) ((__typeof__(&(name)))function(#name))

static void note(uint64_t value)
{
	if (seen->n == 256)
		_exit(7);
	seen->notes[seen->n++] = value;
}

static void note_mask(void)
{
	uint64_t mask[16] = { 0 };

	F(pthread_sigmask)(SIG_BLOCK, NULL, (sigset_t *)(void *)mask);
	note(mask[0]);
}

static void note_action(const struct sigaction *action)
{
	uint64_t mask;

	memcpy(&mask, &action->sa_mask, sizeof(mask));
	note((uintptr_t)action->sa_handler);
	note((unsigned)action->sa_flags);
	note(mask);
}

static void query(void)
{
	struct sigaction action;

	CHECK(!F(sigaction)(SIGSEGV, NULL, &action));
	note_action(&action);
}

#define STACK_SIZE 65536

static char *stack;		/* an alternate one */
static sigjmp_buf left;
static volatile bool leaves, touches;

static void use_stack(void)
{
	stack_t alternate = { .ss_size = STACK_SIZE };

	stack = alternate.ss_sp = malloc(STACK_SIZE);
	CHECK(stack && !sigaltstack(&alternate, NULL));
}

static void on_plain(int sig)
{
	note((unsigned)sig);
	note((uintptr_t)__builtin_frame_address(0) - (uintptr_t)stack < STACK_SIZE);
	note_mask();
	if (touches) {
		shut();
		touch_object();
	}
	if (leaves)
		siglongjmp(left, 1);
}

static void on_info(int sig, siginfo_t *info, void *context)
{
	uint64_t mask;

	memcpy(&mask, &((ucontext_t *)context)->uc_sigmask, sizeof(mask));
	note((unsigned)info->si_code);
	note(info->si_code > 0 ? (uintptr_t)info->si_addr : (uintptr_t)info->si_value.sival_ptr);
	note(mask);
	on_plain(sig);
}

static void use_sigaction(handler_function *handler, int flags, bool masked)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags }, old;

	if (flags & SA_SIGINFO)
		action.sa_sigaction = on_info;
	if (masked)
		sigfillset(&action.sa_mask);
	CHECK(!F(sigaction)(SIGSEGV, &action, &old));
	note_action(&old);
}

/* All ways to say what shall happen. */
static void act_default(void) { use_sigaction(SIG_DFL, 0, false); }
static void act_ignored(void) { use_sigaction(SIG_IGN, 0, false); }
static void act_plain(void) { use_sigaction(on_plain, 0, false); }
static void act_masked(void) { use_sigaction(on_plain, SA_RESTART, true); }
static void act_info(void) { use_sigaction(NULL, SA_SIGINFO, false); }
static void act_info_masked(void) { use_sigaction(NULL, SA_SIGINFO | SA_ONSTACK | SA_NOCLDWAIT, true); }
static void act_nodefer(void) { use_sigaction(NULL, SA_SIGINFO | SA_NODEFER, false); }
static void act_nodefer_masked(void) { use_sigaction(NULL, SA_SIGINFO | SA_NODEFER, true); }
static void act_reset(void) { use_sigaction(NULL, SA_SIGINFO | SA_RESETHAND, false); }
static void act_reset_nodefer(void) { use_sigaction(on_plain, SA_RESETHAND | SA_NODEFER, false); }
static void act_signal(void) { note((uintptr_t)F(signal)(SIGSEGV, on_plain)); }
static void act_signal_ignore(void) { note((uintptr_t)F(signal)(SIGSEGV, SIG_IGN)); }
static void act_bsd_signal(void) { note((uintptr_t)F(bsd_signal)(SIGSEGV, on_plain)); }
static void act_ssignal(void) { note((uintptr_t)F(ssignal)(SIGSEGV, on_plain)); }
static void act_sysv_signal(void) { note((uintptr_t)F(sysv_signal)(SIGSEGV, on_plain)); }
static void act_sigset(void) { note((uintptr_t)F(sigset)(SIGSEGV, on_plain)); }
static void act_sigset_hold(void) { note((uintptr_t)F(sigset)(SIGSEGV, SIG_HOLD)); }
static void act_sigset_twice(void) { act_sigset_hold(); act_sigset_hold(); act_sigset(); }
static void act_sigignore(void) { note((uint64_t)F(sigignore)(SIGSEGV)); }
static void act_interrupt(void)
{
	note((uint64_t)F(siginterrupt)(SIGSEGV, 1));
	act_signal();
	query();
	note((uint64_t)F(siginterrupt)(SIGSEGV, 0));
}
static void act_error(void)
{
	struct sigaction action = { .sa_handler = on_plain };

	note(F(signal)(SIGSEGV, SIG_ERR) == SIG_ERR);
	note((uint64_t)errno);
	note((uint64_t)F(sigaction)(0, &action, NULL));
	note((uint64_t)F(sigaction)(SIGKILL, &action, NULL));
	note((uint64_t)errno);
	act_plain();
}

static void (*const acts[])(void) = {
	act_default, act_ignored, act_plain, act_masked, act_info, act_info_masked, act_nodefer, act_nodefer_masked,
	act_reset, act_reset_nodefer, act_signal, act_signal_ignore, act_bsd_signal, act_ssignal, act_sysv_signal,
	act_sigset, act_sigset_hold, act_sigset_twice, act_sigignore, act_interrupt, act_error,
};
#define N_ACTS (sizeof(acts) / sizeof(acts[0]))

static void start(void)
{
	open_object();
	touch_object();
	shut();
}

/* Run in a child, and return what was seen there. */
static struct seen observe(enum start when, void (*act)(void), void (*then)(void))
{
	pid_t child;

	memset(seen, 0, sizeof(*seen));
	fflush(stdout);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		started = when != NEVER;
		if (when == BEFORE)
			start();
		if (act)
			act();
		if (when == AFTER)
			start();
		touches = when != NEVER && touches;
		query();
		then();
		query();
		note_mask();
		if (when != NEVER)
			touch_object();
		_exit(9);
	}
	CHECK_EQ(waitpid(child, &seen->status, 0), child);
	return *seen;
}

static void compare(const char *what, size_t i, void (*act)(void), void (*then)(void))
{
	struct seen without = observe(NEVER, act, then);

	if (WIFEXITED(without.status))
		CHECK_EQ(WEXITSTATUS(without.status), 9);
	CHECK(without.n);
	for (enum start when = BEFORE; when < N_STARTS; when++) {
		struct seen with = observe(when, act, then);

		if (with.status == without.status && with.n == without.n &&
		    !memcmp(with.notes, without.notes, sizeof(with.notes)))
			continue;
		printf("%s, action %zu, %s: status %x, not %x\n", what, i, when == BEFORE ? "before" : "after",
		       with.status, without.status);
		for (int k = 0; k < with.n || k < without.n; k++)
			printf("%3d: %lx %lx%s\n", k, with.notes[k], without.notes[k],
			       with.notes[k] != without.notes[k] ? " <" : "");
		FAIL("the library can be told");
	}
}

/* It has handlers and masks of its own over libc's, and lets handlers run when it likes. */
static void not_with_tsan(void)
{
#if defined(__SANITIZE_THREAD__)
	skip("ThreadSanitizer takes signals for itself");
#endif
}

static void prepare(void)
{
	not_with_tsan();
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(seen != MAP_FAILED);
	use_stack();
	/* A sanitizer has a handler of its own. */
	F(signal)(SIGSEGV, SIG_DFL);
}

/* ---- the cases */

static void fault_twice(void)
{
	leaves = true;
	for (volatile int i = 0; i < 2; i++) {
		if (!sigsetjmp(left, 1))
			touch_write(WILD + i);
		query();
		note_mask();
	}
}

/* Faults that are the program's own. */
static void faults(void)
{
	prepare();
	for (size_t i = 0; i < N_ACTS; i++)
		compare("a fault", i, acts[i], fault_twice);
}

static void get_twice(void)
{
	sigset_t mask;

	for (int i = 0; i < 2; i++) {
		raise(SIGSEGV);
		sigqueue(getpid(), SIGSEGV, (union sigval){ .sival_ptr = &seen });
		query();
		note_mask();
	}
	sigemptyset(&mask);
	sigaddset(&mask, SIGSEGV);
	F(sigprocmask)(SIG_BLOCK, &mask, NULL);
	note_mask();
	raise(SIGSEGV);
	note(0xb10c);
	F(sigprocmask)(SIG_UNBLOCK, &mask, NULL);
	note(0xb10d);
}

/* Signals that somebody sends. */
static void sent(void)
{
	prepare();
	for (size_t i = 0; i < N_ACTS; i++)
		compare("a signal", i, acts[i], get_twice);
}

/* A handler may use objects, whatever mask it runs with. */
static void handler_touches(void)
{
	prepare();
	touches = true;
	for (size_t i = 0; i < N_ACTS; i++) {
		compare("a fault", i, acts[i], fault_twice);
		compare("a signal", i, acts[i], get_twice);
	}
}

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

static void crash(void)
{
	touch_read(WILD);
}

static void fault_while_blocked(void)
{
	sigset_t mask;

	sigfillset(&mask);
	F(sigprocmask)(SIG_BLOCK, &mask, NULL);
	note_mask();
	touch_read(WILD);
}

static void on_fault_again(int sig)
{
	note(1);
	touch_read(WILD);
}

static void fault_in_handler(void)
{
	F(signal)(SIGSEGV, on_fault_again);
	touch_read(WILD);
}

/* What kills a program kills it with the library too. */
static void crashes(void)
{
	prepare();
	compare("a crash", 0, act_default, crash);
	compare("a crash", 1, NULL, crash);
	compare("a crash in a handler", 0, act_plain, fault_in_handler);
	compare("a crash while blocked", 0, act_info, fault_while_blocked);
	CHECK(WIFSIGNALED(seen->status));
	CHECK_EQ(WTERMSIG(seen->status), SIGSEGV);
}

/* ---- masks */

static void set_masks(void)
{
	sigset_t mask, old;
	struct sigaction action = { .sa_handler = SIG_IGN };

	sigfillset(&mask);
	CHECK(!F(sigprocmask)(SIG_SETMASK, &mask, NULL));
	note_mask();
	sigdelset(&mask, SIGSEGV);
	CHECK(!F(pthread_sigmask)(SIG_SETMASK, &mask, &old));
	note(sigismember(&old, SIGSEGV) == 1);
	note_mask();
	CHECK(!F(sigprocmask)(SIG_SETMASK, &old, &mask));
	note(sigismember(&mask, SIGSEGV) == 1);
	sigemptyset(&mask);
	sigaddset(&mask, SIGSEGV);
	CHECK(!F(sigprocmask)(SIG_UNBLOCK, &mask, NULL));
	note_mask();
	CHECK(!F(sigprocmask)(SIG_BLOCK, &mask, NULL));
	note_mask();
	note((uint64_t)F(sigprocmask)(99, &mask, NULL));
	note_mask();
	note((unsigned)F(sigsetmask)(1 << (SIGUSR1 - 1)));
	note_mask();
	note((unsigned)F(sigblock)(1 << (SIGSEGV - 1)));
	note_mask();
	note((unsigned)F(sigblock)(0));
	note((uint64_t)F(sigrelse)(SIGSEGV));
	note_mask();
	note((uint64_t)F(sighold)(SIGSEGV));
	note_mask();
	/* In the mask of another's handler. */
	sigfillset(&action.sa_mask);
	CHECK(!F(sigaction)(SIGUSR2, &action, NULL));
	CHECK(!F(sigaction)(SIGUSR2, NULL, &action));
	note_action(&action);
	note((uintptr_t)F(signal)(SIGUSR2, SIG_DFL));
	CHECK(!F(sigaction)(SIGUSR2, NULL, &action));
	note_action(&action);
}

static void on_hold(int sig)
{
	note((uint64_t)F(sighold)(SIGSEGV));
	note_mask();
}

/* What a handler blocks is so until it returns; to find that out nobody has to ask for the mask. */
static void hold_in_handler(void)
{
	struct sigaction action = { .sa_handler = on_hold };

	leaves = true;
	CHECK(!F(sigaction)(SIGUSR1, &action, NULL));
	for (volatile int i = 0; i < 2; i++) {
		raise(SIGUSR1);
		if (i)
			note_mask();
		if (!sigsetjmp(left, 1))
			touch_write(WILD);
		note_mask();
	}
}

/* A jump that restores no mask keeps what is blocked. */
static void hold_and_jump(void)
{
	jmp_buf here;

	F(sighold)(SIGSEGV);
	if (!setjmp(here))
		longjmp(here, 1);
	note_mask();
	raise(SIGSEGV);
	note(0xb10c);
	F(sigrelse)(SIGSEGV);
	note(0xb10d);
}

static void masks(void)
{
	prepare();
	compare("masks", 0, NULL, set_masks);
	compare("masks", 1, act_plain, set_masks);
	compare("a mask in a handler", 0, act_plain, hold_in_handler);
	compare("a mask and a jump", 0, act_plain, hold_and_jump);
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
	sigset_t mask;

	sigfillset(&mask);
	CHECK(!pthread_attr_init(&attr));
	CHECK(!pthread_attr_setsigmask_np(&attr, &mask));
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
	/* Where nobody puts the mask right, it is not blocked either. */
	action.sa_handler = on_left_blocked;
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
	open_object();
	leave_100(0);
	leave_100(SA_ONSTACK);
	leave_100(SA_NODEFER);
	leave_100(SA_NODEFER | SA_ONSTACK);
}

#define COROUTINE_SIZE 262144

static ucontext_t task, scheduler;

/* On a stack of its own, and left for a task on another: from there each fault leads back to here. */
static void schedule(void)
{
	leaves = true;
	for (volatile int i = 0; i < 3; i++) {
		if (!sigsetjmp(left, 1)) {
			if (!i)
				swapcontext(&scheduler, &task);
			touch_write(WILD + i);
		}
		note_mask();
		query();
	}
	setcontext(&task);
}

static void fault_in_task(void)
{
	static char room[COROUTINE_SIZE];
	volatile bool again = false;

	CHECK((uintptr_t)room < (uintptr_t)__builtin_frame_address(0));
	CHECK(!getcontext(&scheduler));
	scheduler.uc_stack = (stack_t){ .ss_sp = room, .ss_size = sizeof(room) };
	makecontext(&scheduler, schedule, 0);
	CHECK(!swapcontext(&task, &scheduler));
	if (!again) {
		again = true;
		touch_write(WILD);
	}
}

/* A handler on one stack may be left for another, wherever that lies. */
static void coroutines(void)
{
	prepare();
	compare("a task's fault", 0, act_plain, fault_in_task);
	compare("a task's fault", 1, act_nodefer, fault_in_task);
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

static struct sigaction below_host, below_other;

static void on_host(int sig, siginfo_t *info, void *context)
{
	note(0x4057);
	if (below_host.sa_flags & SA_SIGINFO)
		below_host.sa_sigaction(sig, info, context);
	else
		F(signal)(sig, SIG_DFL);
}

static void on_host_again(int sig, siginfo_t *info, void *context)
{
	note(0x4058);
	below_other.sa_sigaction(sig, info, context);
}

/* A host that has found the C library's own function. */
static void insist(void)
{
	struct sigaction action = { .sa_sigaction = on_host, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	bool was = started;

	started = false;
	CHECK(!F(sigaction)(SIGSEGV, &action, &below_host));
	started = was;
}

/* It is what another action finds, who forwards to it, and it to who was there before both: that is the library. */
static void circle(void)
{
	struct sigaction action = { .sa_sigaction = on_host_again, .sa_flags = SA_SIGINFO };

	insist();
	CHECK(!F(sigaction)(SIGSEGV, &action, &below_other));
	note(below_other.sa_sigaction == on_host);
	touch_write(WILD);
}

/* It is what the library finds when it starts again. */
static void circle_of_two(void)
{
	insist();
	if (started) {
		CHECK_OK(adsmFree(object));
		unload();
		CHECK_OK(adsmShutdown());
		start();
	}
	touch_write(WILD);
}

/* Handlers that forward to each other, in a circle, end as they do where the library is not one of them. */
static void circles(void)
{
	prepare();
	compare("a circle", 0, NULL, circle);
	compare("a circle", 1, NULL, circle_of_two);
	CHECK(WIFSIGNALED(seen->status));
	CHECK_EQ(WTERMSIG(seen->status), SIGSEGV);
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

/* A handler that runs in such a call uses objects, though the call's mask has SIGSEGV. */
static void masked_calls(void)
{
	struct sigaction action = { .sa_handler = on_touch };
	sigset_t blocked, mask = all_but(SIGUSR1, SIGUSR1), none, now;

	not_with_tsan();
	sigfillset(&action.sa_mask);
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	signal(SIGSEGV, on_segv);
	open_object();
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
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

/* It goes on where the handler's action says so. */
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

/* What waits for the parent does not wait for its child. */
static void fork_while_pending(void)
{
	pid_t child;
	int status;

	F(sighold)(SIGSEGV);
	raise(SIGSEGV);
	child = fork();
	if (!child) {
		note_mask();
		F(sigrelse)(SIGSEGV);
		note_mask();
		_exit(5);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	note((unsigned)status);
	note_mask();
	F(sigrelse)(SIGSEGV);
}

static void forked(void)
{
	prepare();
	compare("a fork", 0, act_plain, fork_while_pending);
	compare("a fork", 1, act_default, fork_while_pending);
}

static bool is_held(void)
{
	sigset_t mask;

	CHECK(!sigprocmask(SIG_BLOCK, NULL, &mask));
	return sigismember(&mask, SIGSEGV);
}

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
	CASE("faults", faults),
	CASE("sent", sent),
	CASE("handler-touches", handler_touches),
	FAULT_CASE("handler-chains", handler_chains),
	CASE("crashes", crashes),
	CASE("masks", masks),
	FAULT_CASE("blocked-threads", blocked_threads),
	FAULT_CASE("handlers-left", handlers_left),
	CASE("coroutines", coroutines),
	FAULT_CASE("hosts", hosts),
	CASE("circles", circles),
	FAULT_CASE("masked-calls", masked_calls),
	CASE("shared-arguments", shared_arguments),
	FAULT_CASE("changes", changes),
	FAULT_CASE("restarts", restarts),
	CASE("forked", forked),
	FAULT_CASE("vforked", vforked),
	CASE("cancelled-entries", cancelled_entries),
};
CONFORM_MAIN(cases)
