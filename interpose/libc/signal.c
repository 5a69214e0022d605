/* SPDX-License-Identifier: MIT */
/*
 * signal.c - signals and their masks.
 *
 * The library uses SIGSEGV, and hides that from a program that uses SIGSEGV itself: the engine keeps the program's
 * action, and the program's masks are converted for the kernel as engine/mask.h describes. No other signal is treated
 * so; SIGBUS belongs to the program. In a process whose program does not use the library, nothing changes.
 */
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "engine/mask.h"
#include "engine/sigsegv.h"
#include "range.h"
#include "base/log.h"
#include "base/os.h"
#include "run/copy/io.h"

/* Deprecated functions are wrapped, too. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

typedef void handler_function(int);

ADSM_REALS(sigaction, signal, sysv_signal, sigset, sigignore, sighold, sigrelse, siginterrupt, sigprocmask,
	   pthread_sigmask, sigaltstack, pthread_attr_setsigmask_np, pthread_attr_getsigmask_np,
	   pthread_create, thrd_create)

/* ---- does the program use the library? */

/* For one file of the process: is it linked with this library; or is it the program, which comes first, and does its
 * string table have names of this library's functions? */
static int mentions_us(struct dl_phdr_info *info, size_t size, void *is_program)
{
	const char *strings = NULL;
	const ElfW(Dyn) *dynamic = NULL;
	size_t n_strings = 0;
	bool first = *(bool *)is_program;

	*(bool *)is_program = false;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (const ElfW(Dyn) *d = dynamic; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_STRTAB && d->d_un.d_ptr >= info->dlpi_addr)
			strings = (const char *)d->d_un.d_ptr;
		if (d->d_tag == DT_STRSZ)
			n_strings = d->d_un.d_val;
	}
	for (const ElfW(Dyn) *d = dynamic; strings && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED && !strncmp(strings + d->d_un.d_val, "libadsm.so", 10))
			return 1;
	return first && strings && memmem(strings, n_strings, "\0adsm", 5);
}

static bool hidden(void)
{
	return atomic_load_explicit(&adsm_mask_hidden, memory_order_relaxed);
}

static bool is_ours(int sig)
{
	return sig == SIGSEGV && hidden();
}

/* ---- actions */

#define KERNEL_MASK_SIZE 8
#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000	/* of x86-64 and aarch64 */
#endif

/* The action in the form of the system call. */
struct kernel_action {
	uint64_t handler, flags, restorer, mask;
};

/* In return.S: handlers return to it. */
extern __attribute__((visibility("hidden"))) const char adsm_signal_return[];

static _Atomic uint64_t masks_with_stand_in;	/* signals whose sa_mask has SIGSTKFLT in the program's view */
static atomic_bool segv_interrupts;		/* set by siginterrupt() */

static uint64_t bit(int sig)
{
	return sig > 0 && sig <= 64 ? UINT64_C(1) << (sig - 1) : 0;
}

static void note_stand_in(int sig, bool has)
{
	/* The child of vfork() has actions of its own, and its parent's memory. */
	if (has == !!(atomic_load(&masks_with_stand_in) & bit(sig)) || adsm_mask_is_vforked())
		return;
	if (has)
		atomic_fetch_or(&masks_with_stand_in, bit(sig));
	else
		atomic_fetch_and(&masks_with_stand_in, ~bit(sig));
}

static bool has_handler(const struct kernel_action *action)
{
	return action->handler != (uintptr_t)SIG_DFL && action->handler != (uintptr_t)SIG_IGN;
}

/* A handler may put SIGSEGV into the mask that its return restores. So it is made to return to adsm_signal_return,
 * which converts that mask. @mask: sa_mask was set before the library hid SIGSEGV, and is converted, too. */
static bool adopt_action(int sig, struct kernel_action *action, bool mask)
{
	if (!has_handler(action))
		return false;
	action->flags |= SA_RESTORER;
	action->restorer = (uintptr_t)adsm_signal_return;
	if (mask) {
		note_stand_in(sig, action->mask & bit(SIGSTKFLT));
		action->mask = adsm_mask_to_kernel(action->mask);
	}
	return true;
}

/* The kernel's action was @found. Replace it by @action, with the return to adsm_signal_return. If the action has
 * changed meanwhile, by another thread, a handler, or a signal with SA_RESETHAND, the changed action is put back. */
static void replace_action(int sig, struct kernel_action found, struct kernel_action action, bool mask)
{
	struct kernel_action replaced;

	while (adopt_action(sig, &action, mask) &&
	       !syscall(SYS_rt_sigaction, sig, &action, &replaced, KERNEL_MASK_SIZE) &&
	       memcmp(&replaced, &found, sizeof(found))) {
		found = action;
		action = replaced;
		if (!has_handler(&replaced))
			syscall(SYS_rt_sigaction, sig, &replaced, NULL, KERNEL_MASK_SIZE);
	}
}

static void adopt(int sig, bool mask)
{
	struct kernel_action found;

	if (!syscall(SYS_rt_sigaction, sig, NULL, &found, KERNEL_MASK_SIZE))
		replace_action(sig, found, found, mask);
}

/* libc has just set this action. In nearly all cases it has not changed since, and one system call is enough. */
static void adopt_set(int sig, const struct sigaction *set)
{
	const uint64_t never = bit(SIGKILL) | bit(SIGSTOP);
	struct kernel_action action = { .handler = (uintptr_t)set->sa_handler, .flags = (unsigned)set->sa_flags,
					.mask = set->sa_mask.__val[0] & ~never }, replaced, found;

	if (!adopt_action(sig, &action, false) ||
	    syscall(SYS_rt_sigaction, sig, &action, &replaced, KERNEL_MASK_SIZE))
		return;
	/* The restorer is not compared: libc has set its own. */
	if (replaced.handler == action.handler && (replaced.flags | SA_RESTORER) == action.flags &&
	    replaced.mask == action.mask)
		return;
	if (!has_handler(&replaced))
		syscall(SYS_rt_sigaction, sig, &replaced, NULL, KERNEL_MASK_SIZE);
	else if (!syscall(SYS_rt_sigaction, sig, NULL, &found, KERNEL_MASK_SIZE))
		replace_action(sig, found, replaced, false);
}

static void adopt_all(void)
{
	const int saved_errno = errno;

	for (int sig = 1; sig <= 64; sig++)
		if (sig != SIGSEGV)
			adopt(sig, true);
	errno = saved_errno;
}

bool adsm_engine_sees_masks(void)
{
	if (adsm_os_is_bypassed())
		return false;
	if (!hidden())
		adopt_all();
	return true;
}

int adsm_engine_sigaction(int sig, const struct sigaction *action, struct sigaction *old)
{
	return real(sigaction)(sig, action, old);
}

static int segv_action(const struct sigaction *action, struct sigaction *ret_old)
{
	int error = adsm_sigsegv_action(action, ret_old);

	return error ? adsm_refuse(-error) : 0;
}

/* The kernel uses only the first word of a set. */
static uint64_t *word_of(sigset_t *set)
{
	return (uint64_t *)(void *)&set->__val[0];
}

ADSM_WRAPPER int sigaction(int sig, const struct sigaction *action, struct sigaction *old)
{
	const bool had = atomic_load(&masks_with_stand_in) & bit(sig);
	struct sigaction mine, was;
	bool has = false;

	if (!hidden())
		return real(sigaction)(sig, action, old);
	if (action)
		mine = *action;
	if (sig == SIGSEGV) {
		if (segv_action(action ? &mine : NULL, &was))
			return -1;
		if (old)
			*old = was;
		return 0;
	}
	if (action) {
		has = *word_of(&mine.sa_mask) & bit(SIGSTKFLT);
		*word_of(&mine.sa_mask) = adsm_mask_to_kernel(*word_of(&mine.sa_mask));
	}
	if (real(sigaction)(sig, action ? &mine : NULL, &was))
		return -1;
	if (action) {
		note_stand_in(sig, has);
		adopt_set(sig, &mine);
	}
	if (sigismember(&was.sa_mask, SIGSTKFLT))
		sigaddset(&was.sa_mask, SIGSEGV);
	if (!had)
		sigdelset(&was.sa_mask, SIGSTKFLT);
	else
		sigaddset(&was.sa_mask, SIGSTKFLT);
	if (old)
		*old = was;
	return 0;
}
ADSM_ALSO(__sigaction, sigaction);

/* For SIGSEGV: what the older functions do. */
static handler_function *set_handler(handler_function *handler, int flags, bool mask_itself)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags }, old;

	if (handler == SIG_ERR) {
		errno = EINVAL;
		return SIG_ERR;
	}
	if (mask_itself)
		sigaddset(&action.sa_mask, SIGSEGV);
	return segv_action(&action, &old) ? SIG_ERR : old.sa_handler;
}

/* An older function has set an action, with a mask that is empty or has only the signal itself. */
static handler_function *adopt_simple(int sig, handler_function *old)
{
	if (old != SIG_ERR && hidden()) {
		note_stand_in(sig, false);
		adopt(sig, false);
	}
	return old;
}

ADSM_WRAPPER handler_function *signal(int sig, handler_function *handler)
{
	if (is_ours(sig))
		return set_handler(handler, atomic_load(&segv_interrupts) ? 0 : SA_RESTART, true);
	return adopt_simple(sig, real(signal)(sig, handler));
}
ADSM_ALSO(bsd_signal, signal);
ADSM_ALSO(ssignal, signal);

ADSM_WRAPPER handler_function *sysv_signal(int sig, handler_function *handler)
{
	if (is_ours(sig))
		return set_handler(handler, SA_RESETHAND | SA_NODEFER, false);
	return adopt_simple(sig, real(sysv_signal)(sig, handler));
}
ADSM_ALSO(__sysv_signal, sysv_signal);

ADSM_WRAPPER int sigignore(int sig)
{
	if (is_ours(sig))
		return set_handler(SIG_IGN, 0, false) == SIG_ERR ? -1 : 0;
	return real(sigignore)(sig);
}

ADSM_WRAPPER int siginterrupt(int sig, int interrupt)
{
	struct sigaction action, unused;
	int result;

	if (!is_ours(sig)) {
		result = real(siginterrupt)(sig, interrupt);
		if (!result && hidden())
			adopt(sig, false);
		return result;
	}
	atomic_store(&segv_interrupts, interrupt);
	if (segv_action(NULL, &action))
		return -1;
	action.sa_flags = interrupt ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
	return segv_action(&action, &unused);
}

/* ---- masks */

/* A copy for the kernel. The caller's set may be only one word long, as the kernel's, so no more is read. */
static void to_kernel(sigset_t *copy, const sigset_t *mask)
{
	sigemptyset(copy);
	*word_of(copy) = adsm_mask_to_kernel(mask->__val[0]);
}

static int change_mask(int (*call)(int, const sigset_t *, sigset_t *), int how, const sigset_t *mask, sigset_t *old)
{
	sigset_t copy, was;
	int error;

	if (!hidden())
		return call(how, mask, old);
	adsm_mask_thread();
	if (mask)
		to_kernel(&copy, mask);
	/* The program may have blocked SIGSEGV itself by the raw system call. */
	if (mask && how == SIG_UNBLOCK && sigismember(mask, SIGSEGV) == 1)
		sigaddset(&copy, SIGSEGV);
	error = call(how, mask ? &copy : NULL, &was);
	if (error)
		return error;
	copy.__val[0] = mask ? mask->__val[0] : 0;	/* read before old is written: both may be the same set */
	if (old)
		old->__val[0] = adsm_mask_to_program(was.__val[0]);
	if (mask)
		adsm_mask_changed(how, copy.__val[0]);
	return 0;
}

ADSM_WRAPPER int sigprocmask(int how, const sigset_t *mask, sigset_t *old)
{
	return change_mask(real(sigprocmask), how, mask, old);
}

ADSM_WRAPPER int pthread_sigmask(int how, const sigset_t *mask, sigset_t *old)
{
	return change_mask(real(pthread_sigmask), how, mask, old);
}

/* For the old functions whose masks are one int. */
static int change_word(int how, int word)
{
	sigset_t mask, old;

	sigemptyset(&mask);
	mask.__val[0] = (unsigned)word;
	return sigprocmask(how, &mask, &old) ? -1 : (int)old.__val[0];
}

ADSM_WRAPPER int sigblock(int word)
{
	return change_word(SIG_BLOCK, word);
}

ADSM_WRAPPER int sigsetmask(int word)
{
	return change_word(SIG_SETMASK, word);
}

/* Block or unblock one signal. Returns whether it was blocked before. */
static bool change_one(int how, int sig)
{
	sigset_t mask, old;

	sigemptyset(&mask);
	sigaddset(&mask, sig);
	return !sigprocmask(how, &mask, &old) && sigismember(&old, sig) == 1;
}

/* Signals whose bits have another meaning in the kernel's masks. */
static bool is_special(int sig)
{
	return (sig == SIGSEGV || sig == SIGSTKFLT) && hidden();
}

#define CHANGE_ONE(name, how)			\
	ADSM_WRAPPER int name(int sig)		\
	{					\
		if (!is_special(sig))		\
			return real(name)(sig);	\
		change_one(how, sig);		\
		return 0;			\
	}
CHANGE_ONE(sighold, SIG_BLOCK)
CHANGE_ONE(sigrelse, SIG_UNBLOCK)

ADSM_WRAPPER handler_function *sigset(int sig, handler_function *handler)
{
	struct sigaction action = { .sa_handler = handler }, old;
	bool holds = handler == SIG_HOLD, was;

	if (!is_special(sig))
		return holds ? real(sigset)(sig, handler) : adopt_simple(sig, real(sigset)(sig, handler));
	if (handler == SIG_ERR) {
		errno = EINVAL;
		return SIG_ERR;
	}
	if (sigaction(sig, holds ? NULL : &action, &old))
		return SIG_ERR;
	was = change_one(holds ? SIG_BLOCK : SIG_UNBLOCK, sig);
	return was ? SIG_HOLD : old.sa_handler;
}

ADSM_WRAPPER int pthread_attr_setsigmask_np(pthread_attr_t *attr, const sigset_t *mask)
{
	sigset_t copy;

	if (!mask || !hidden())
		return real(pthread_attr_setsigmask_np)(attr, mask);
	to_kernel(&copy, mask);
	return real(pthread_attr_setsigmask_np)(attr, &copy);
}

ADSM_WRAPPER int pthread_attr_getsigmask_np(const pthread_attr_t *attr, sigset_t *mask)
{
	const int result = real(pthread_attr_getsigmask_np)(attr, mask);

	/* This mask belongs to no thread, so SIGSTKFLT in it always stands for SIGSEGV. */
	if (hidden() && sigismember(mask, SIGSTKFLT) == 1) {
		sigdelset(mask, SIGSTKFLT);
		sigaddset(mask, SIGSEGV);
	}
	return result;
}

/* ---- threads inherit a mask */

ADSM_WRAPPER int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	/* A helper thread of the library does not inherit the program's mask. */
	if (hidden() && start != adsm_os_thread_main)
		adsm_mask_thread();
	return real(pthread_create)(thread, attr, start, arg);
}

ADSM_WRAPPER int thrd_create(thrd_t *thread, thrd_start_t start, void *arg)
{
	if (hidden())
		adsm_mask_thread();
	return real(thrd_create)(thread, start, arg);
}

/* ---- alternate stacks */

/* If a thread has an alternate stack, faults on objects are served on it. It must be large enough for that. */
static void check_size(const stack_t *stack)
{
	const size_t needed = getauxval(AT_MINSIGSTKSZ) + ADSM_SIGSEGV_STACK_TOLD;
	static atomic_bool told;

	if (!(stack->ss_flags & SS_DISABLE) && stack->ss_size < needed && !atomic_exchange(&told, true))
		adsm_warn("sigaltstack() with %zu bytes may be too small: a touch of shared memory on this thread may "
			  "need %zu bytes", stack->ss_size, needed);
}

ADSM_WRAPPER int sigaltstack(const stack_t *stack, stack_t *old)
{
	const bool shared = adsm_may_be_shared(old, sizeof(*old));
	stack_t copy, was;
	int result, error = 0;

	if (shared || adsm_may_be_shared(stack, sizeof(copy)))
		adsm_io_look_back(ADSM_STACK());
	/* Sanitizers call this while they start, before their checks work. So *stack is copied only if it is shared. */
	if (adsm_may_be_shared(stack, sizeof(copy))) {
		error = adsm_range_take(&copy, stack, sizeof(copy));
		if (error && error != -EFAULT)
			return adsm_refuse(EIO);
		stack = error ? stack : &copy;
	}
	result = real(sigaltstack)(stack, shared ? &was : old);
	if (!result && stack)
		adsm_io_here.alternate_inside = !(stack->ss_flags & SS_DISABLE) &&
			adsm_os_stack_end((uintptr_t)stack->ss_sp);
	if (!result && stack && hidden())
		check_size(stack);
	error = !result && shared ? adsm_range_give(old, &was, sizeof(was)) : 0;
	return error ? adsm_range_refuse(error) : result;
}

/* ---- life */

/* If the program uses the library, hide SIGSEGV now, while there is only one thread. */
__attribute__((constructor(102))) static void begin(void)
{
	bool is_program = true;

	adsm_sigsegv_in_process();
	pthread_atfork(NULL, NULL, adsm_sigsegv_in_process);
	if (dl_iterate_phdr(mentions_us, &is_program) && adsm_engine_sees_masks())
		adsm_mask_hide(true);
}
