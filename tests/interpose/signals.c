/* SPDX-License-Identifier: MIT */
/*
 * signals.c - SIGSEGV belongs to the application too: what its handlers see, its masks, and how it ends, are the same
 * without the library and with it.
 */
#include "shut.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

typedef void handler_function(int);
handler_function *bsd_signal(int sig, handler_function *handler);

/* ---- what a child sees; with the library started it must be the same */

enum start { NEVER, BEFORE, AFTER, N_STARTS };	/* the library starts: …, before the child's action is set, after */

struct report {
	int n, status;
	uint64_t notes[256];
};

static struct report *report;
static bool started;

#if defined(__x86_64__)
#define FIRST_VERSION "GLIBC_2.2.5"
#else
#define FIRST_VERSION "GLIBC_2.17"
#endif

/* The function of that name: without the library, the C library's own. */
static void *function(const char *name)
{
	static void *libc;
	void *found;

	if (!libc)
		libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	/* Not dlsym() for the C library's: it hands out the wrappers. */
	found = started ? dlsym(RTLD_DEFAULT, name) : dlvsym(libc, name, FIRST_VERSION);
	if (!found)
		_exit(6);
	return found;
}

#define F(name) ((__typeof__(&(name)))function(#name))

static void note(uint64_t value)
{
	if (report->n == 256)
		_exit(7);
	report->notes[report->n++] = value;
}

static void note_mask(void)
{
	uint64_t mask[16] = { 0 };

	F(pthread_sigmask)(SIG_BLOCK, NULL, (sigset_t *)(void *)mask);
	note(mask[0]);
}

/* But for SIGSTKFLT's bit, which the library has for itself. */
static void note_other_mask(void)
{
	sigset_t mask;

	F(pthread_sigmask)(SIG_BLOCK, NULL, &mask);
	sigdelset(&mask, SIGSTKFLT);
	note(mask.__val[0]);
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

static volatile bool leaves, touches;

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
static struct report observe(enum start when, void (*act)(void), void (*then)(void))
{
	pid_t child;

	memset(report, 0, sizeof(*report));
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
	CHECK_EQ(waitpid(child, &report->status, 0), child);
	return *report;
}

static void compare(const char *what, size_t i, void (*act)(void), void (*then)(void))
{
	struct report without = observe(NEVER, act, then);

	if (WIFEXITED(without.status))
		CHECK_EQ(WEXITSTATUS(without.status), 9);
	CHECK(without.n);
	for (enum start when = BEFORE; when < N_STARTS; when++) {
		struct report with = observe(when, act, then);

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

static void prepare(void)
{
	not_with_tsan();
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(report != MAP_FAILED);
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
		sigqueue(getpid(), SIGSEGV, (union sigval){ .sival_ptr = &report });
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

/* Signals that another thread sends. */
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
	CHECK(WIFSIGNALED(report->status));
	CHECK_EQ(WTERMSIG(report->status), SIGSEGV);
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

/* A mask that a handler sets stays until it returns; the library knows that without a query of the mask. */
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

/* ---- contexts, and masks that change behind the library's back */

static ucontext_t here, there;
static volatile unsigned n_came;

static void on_leave_by_context(int sig)
{
	n_came++;
	note_mask();
	F(setcontext)(&here);
}

__attribute__((noinline)) static void fault_deep(unsigned depth)
{
	volatile char room[4096];

	room[depth] = 0;
	if (depth)
		fault_deep(depth - 1);
	else
		touch_write(WILD);
	note((uint64_t)room[depth]);
}

static void left_by_context(void)
{
	static volatile unsigned round;

	use_sigaction(on_leave_by_context, 0, false);
	CHECK(!getcontext(&here));
	note(n_came);
	note_mask();
	if (round++ < 4)
		fault_deep(4 * round);
}

static void on_block(int sig, siginfo_t *info, void *context)
{
	sigaddset(&((ucontext_t *)context)->uc_sigmask, SIGSEGV);
	sigaddset(&((ucontext_t *)context)->uc_sigmask, SIGUSR2);
}

static void on_unblock(int sig, siginfo_t *info, void *context)
{
	memset(&((ucontext_t *)context)->uc_sigmask, 0, 8);
}

static void on_block_others(int sig, siginfo_t *info, void *context)
{
	sigset_t mask;

	sigfillset(&mask);
	sigdelset(&mask, SIGSEGV);
	/* The kernel's sets are shorter than the C library's, and other things follow. */
	memcpy(&((ucontext_t *)context)->uc_sigmask, &mask, 8);
}

/* A handler changes the mask to which it returns. */
static void masks_of_context(void)
{
	struct sigaction action = { .sa_sigaction = on_block, .sa_flags = SA_SIGINFO };
	sigset_t none;

	CHECK(!F(sigaction)(SIGUSR1, &action, NULL));
	for (int i = 0; i < 2; i++) {
		raise(SIGUSR1);
		note_mask();
		raise(SIGSEGV);
		note(0xb10c);
		if (started)
			touch_object();
		action.sa_sigaction = on_unblock;
		CHECK(!F(sigaction)(i ? SIGUSR1 : SIGUSR2, &action, NULL));
		raise(i ? SIGUSR1 : SIGUSR2);
		F(sigrelse)(SIGSEGV);
		F(sigrelse)(SIGUSR2);
		note_mask();
		action.sa_sigaction = on_block;
		CHECK(!F(sigaction)(SIGUSR1, &action, NULL));
	}
	/* All but SIGSEGV. */
	action.sa_sigaction = on_block_others;
	CHECK(!F(sigaction)(SIGUSR1, &action, NULL));
	raise(SIGUSR1);
	note_other_mask();
	sigemptyset(&none);
	CHECK(!F(sigprocmask)(SIG_SETMASK, &none, NULL));
	action.sa_sigaction = on_block;
	/* The handler of SIGSEGV itself: after it the signal is blocked. */
	CHECK(!F(sigaction)(SIGSEGV, &action, NULL));
	raise(SIGSEGV);
	note_mask();
	if (started)
		touch_object();
	touch_write(WILD);
}

static void body(void)
{
	note_other_mask();
	if (started) {
		shut();
		touch_object();
	}
}

/* A context that the program has given a mask. */
static void mask_for_context(void)
{
	static char room[COROUTINE_SIZE];

	for (volatile int i = 0; i < 2; i++) {
		CHECK(!getcontext(&there));
		there.uc_stack = (stack_t){ .ss_sp = room, .ss_size = sizeof(room) };
		there.uc_link = &here;
		sigfillset(&there.uc_sigmask);
		if (i)
			sigdelset(&there.uc_sigmask, SIGSEGV);
		makecontext(&there, body, 0);
		CHECK(!F(swapcontext)(&here, &there));
		note_mask();
	}
}

static void on_hold_open(int sig)
{
	F(sighold)(SIGSEGV);
	note_mask();
}

/* Nothing reports that its return restores a mask, nor that it makes the system call. */
static void restored(void)
{
	struct sigaction action = { .sa_handler = on_hold_open, .sa_flags = SA_NODEFER };
	const uint64_t none = 0;

	leaves = true;
	CHECK(!F(sigaction)(SIGUSR1, &action, NULL));
	for (volatile int i = 0; i < 4; i++) {
		if (i % 2) {
			F(sighold)(SIGSEGV);
			syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, 8);
		} else {
			raise(SIGUSR1);
		}
		if (!sigsetjmp(left, 1))
			touch_write(WILD);
		note_mask();
	}
}

/* What V8 does, to find out whether a fault is its own: it looks with the signal open, and puts the mask back. */
static void on_look(int sig, siginfo_t *info, void *context)
{
	sigset_t mask, old;

	n_came++;
	sigemptyset(&mask);
	sigaddset(&mask, SIGSEGV);
	CHECK(!F(sigprocmask)(SIG_UNBLOCK, &mask, &old));
	note(sigismember(&old, SIGSEGV) == 1);
	CHECK(!F(sigprocmask)(SIG_SETMASK, &old, NULL));
	note_mask();
	siglongjmp(left, 1);
}

static void looked(void)
{
	struct sigaction action = { .sa_sigaction = on_look, .sa_flags = SA_SIGINFO };

	CHECK(!F(sigaction)(SIGSEGV, &action, NULL));
	for (volatile int i = 0; i < 3; i++)
		if (!sigsetjmp(left, 1))
			touch_write(WILD);
	note(n_came);
}

/* Without SA_SIGINFO, and yet it is given all three. */
static void on_three(int sig, siginfo_t *info, void *context)
{
	note((unsigned)sig);
	note(*(uint64_t *)(void *)&((ucontext_t *)context)->uc_sigmask);
#if defined(__x86_64__)
	note((uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP]);
#else
	note(((ucontext_t *)context)->uc_mcontext.pc);
#endif
	siglongjmp(left, 1);
}

static void three_arguments(void)
{
	struct sigaction action = { .sa_sigaction = on_three };

	CHECK(!F(sigaction)(SIGSEGV, &action, NULL));
	F(sighold)(SIGUSR1);
	for (volatile int i = 0; i < 2; i++)
		if (!sigsetjmp(left, 1))
			touch_write(WILD);
}

static void *note_own_mask(void *unused)
{
	note_mask();
	return NULL;
}

/* Threads and programs that are started get the mask. */
static void inherited(void)
{
	pthread_t thread;
	char line[64];
	FILE *file;

	F(sighold)(SIGSEGV);
	CHECK(!pthread_create(&thread, NULL, note_own_mask, NULL));
	CHECK(!pthread_join(thread, NULL));
	file = F(popen)("exec grep SigBlk: /proc/self/status", "r");
	CHECK(file && fgets(line, sizeof(line), file));
	note(strtoull(line + 7, NULL, 16));
	pclose(file);
	note_mask();
	F(sigrelse)(SIGSEGV);
}

static bool found;

static _Unwind_Reason_Code look_for(struct _Unwind_Context *frame, void *function)
{
	found |= _Unwind_GetIP(frame) - (uintptr_t)function < 256;
	return _URC_NO_REASON;
}

static void unwound(void);

static void on_unwind(int sig)
{
	found = false;
	_Unwind_Backtrace(look_for, (void *)(uintptr_t)unwound);
	note(found);
}

/* A handler that walks the stack finds the interrupted function. */
__attribute__((noinline)) static void unwound(void)
{
	struct sigaction action = { .sa_handler = on_unwind };

	CHECK(!F(sigaction)(SIGUSR1, &action, NULL));
	syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
	note(0x1);
}

static void contexts(void)
{
	if (WITH_ASAN)
		skip("AddressSanitizer does not follow contexts that a handler goes to");
	prepare();
	compare("a handler left by setcontext()", 0, NULL, left_by_context);
	compare("a mask in a handler's context", 0, act_info, masks_of_context);
	compare("a mask of a context", 0, act_plain, mask_for_context);
	compare("a mask that is restored", 0, act_plain, restored);
	compare("a mask that is looked at", 0, NULL, looked);
	compare("three arguments", 0, NULL, three_arguments);
	compare("a mask that is inherited", 0, act_plain, inherited);
	compare("an unwound stack", 0, NULL, unwound);
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

/* It is the action that another action finds. That one forwards to it, and it forwards to the action before both: the
 * library's. */
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
	CHECK(WIFSIGNALED(report->status));
	CHECK_EQ(WTERMSIG(report->status), SIGSEGV);
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

static _Atomic int n_fired;

static void on_timer(union sigval value)
{
	++*(volatile unsigned *)value.sival_ptr;
	n_fired++;
}

/* Functions of timers run where the C library has blocked all signals. */
static void timers(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_timer };
	timer_t timer[3];
	unsigned *p;

	if (WITH_TSAN)
		skip("ThreadSanitizer does not know threads that the C library starts by itself");
	p = words(N, 0);
	event.sigev_value.sival_ptr = p;
	for (unsigned i = 0; i < 3; i++) {
		CALL("increment", N, adsmPtr(p), adsmVal(N));
		SETTLE();
		CHECK(!timer_create(CLOCK_MONOTONIC, &event, &timer[i]));
		CHECK(!timer_settime(timer[i], 0, &(struct itimerspec){ .it_value.tv_nsec = 1 }, NULL));
		while (n_fired == (int)i)
			sched_yield();
		CHECK_EQ(p[0], 2 * i + 2);
	}
	for (unsigned i = 0; i < 3; i++)
		CHECK(!timer_delete(timer[i]));
	CHECK_OK(adsmFree(p));
}

static const struct conform_case cases[] = {
	CASE("faults", faults),
	CASE("sent", sent),
	CASE("handler-touches", handler_touches),
	CASE("crashes", crashes),
	CASE("masks", masks),
	CASE("coroutines", coroutines),
	CASE("contexts", contexts),
	CASE("circles", circles),
	CASE("forked", forked),
	CASE("timers", timers),
};
CONFORM_MAIN(cases)
