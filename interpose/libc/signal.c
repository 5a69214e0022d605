/* SPDX-License-Identifier: MIT */
/*
 * signal.c - signals and their masks.
 *
 * The library takes SIGSEGV, and an application that uses it too sees nothing of that: its action is kept by the
 * engine, and what it believes of SIGSEGV's bit in its masks is kept here and there, while the kernel never blocks
 * it: a fault on an object would kill. Only what an engine takes is treated so; SIGBUS is nobody's but the
 * application's. Where this cannot be exact, SIGSEGV is unblocked: in a new thread, in a handler whose sa_mask has
 * it, and in a program that is started with exec. A program that never heard of the library keeps all as it is.
 */
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include "engine/sigsegv.h"
#include "range.h"
#include "base/log.h"
#include "run/copy.h"

/* Functions of old are wrapped too. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* Names that headers declare no more, or only in other dialects. */
typedef void handler_function(int);
int __sigpause(int sig_or_mask, int is_sig);
int __xpg_sigpause(int sig);
handler_function *bsd_signal(int sig, handler_function *handler);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask, size_t size);

ADSM_REAL(sigaction);
ADSM_REAL(signal);
ADSM_REAL(sysv_signal);
ADSM_REAL(sigset);
ADSM_REAL(sigignore);
ADSM_REAL(sighold);
ADSM_REAL(sigrelse);
ADSM_REAL(siginterrupt);
ADSM_REAL(sigprocmask);
ADSM_REAL(pthread_sigmask);
ADSM_REAL(sigsuspend);
ADSM_REAL(sigaltstack);
ADSM_REAL(pthread_attr_setsigmask_np);
ADSM_REAL(ppoll);
ADSM_REAL(__ppoll_chk);
ADSM_REAL(pselect);
ADSM_REAL(epoll_pwait);
ADSM_REAL(epoll_pwait2);

/* ---- whose program this is */

static atomic_bool in_use;	/* there are shared objects, or it looks as if there will be */

/* A library of the process: is it linked with this one, or is it the program, the first, and names its functions? */
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

__attribute__((constructor(101))) static void look_around(void)
{
	bool is_program = true;

	if (dl_iterate_phdr(mentions_us, &is_program))
		atomic_store(&in_use, true);
}

/* Once in use, always: threads keep their idea of the mask. */
static bool used(void)
{
	if (!atomic_load_explicit(&in_use, memory_order_relaxed) &&
	    atomic_load_explicit(&adsm_shared_range.size, memory_order_relaxed))
		atomic_store(&in_use, true);
	return atomic_load_explicit(&in_use, memory_order_relaxed);
}

static bool is_ours(int sig)
{
	return sig == SIGSEGV && used();
}

/* ---- actions */

static _Atomic uint64_t masks_with_segv;	/* signals whose sa_mask has SIGSEGV, as the application believes */
static atomic_bool segv_interrupts;		/* siginterrupt() */

static uint64_t bit(int sig)
{
	return sig > 0 && sig <= 64 ? UINT64_C(1) << (sig - 1) : 0;
}

int adsm_engine_sigaction(int sig, const struct sigaction *action, struct sigaction *old)
{
	/* From here on all other actions have to go through the engine. */
	if (action)
		atomic_store(&in_use, true);
	return real(sigaction)(sig, action, old);
}

static int segv_action(const struct sigaction *action, struct sigaction *ret_old)
{
	int error = adsm_sigsegv_action(action, ret_old);

	return error ? adsm_refuse(-error) : 0;
}

ADSM_WRAPPER int sigaction(int sig, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction mine, was;
	uint64_t had;

	if (!used())
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
	if (action)
		sigdelset(&mine.sa_mask, SIGSEGV);
	if (real(sigaction)(sig, action ? &mine : NULL, &was))
		return -1;
	if (!action)
		had = atomic_load(&masks_with_segv);
	else if (sigismember(&action->sa_mask, SIGSEGV))
		had = atomic_fetch_or(&masks_with_segv, bit(sig));
	else
		had = atomic_fetch_and(&masks_with_segv, ~bit(sig));
	if (had & bit(sig))
		sigaddset(&was.sa_mask, SIGSEGV);
	if (old)
		*old = was;
	return 0;
}

/* For SIGSEGV: the older functions are made of this. */
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

static void forget_mask(int sig)
{
	atomic_fetch_and(&masks_with_segv, ~bit(sig));
}

ADSM_WRAPPER handler_function *signal(int sig, handler_function *handler)
{
	if (is_ours(sig))
		return set_handler(handler, atomic_load(&segv_interrupts) ? 0 : SA_RESTART, true);
	forget_mask(sig);
	return real(signal)(sig, handler);
}

ADSM_WRAPPER handler_function *bsd_signal(int sig, handler_function *handler)
{
	return signal(sig, handler);
}

ADSM_WRAPPER handler_function *ssignal(int sig, handler_function *handler)
{
	return signal(sig, handler);
}

ADSM_WRAPPER handler_function *sysv_signal(int sig, handler_function *handler)
{
	if (is_ours(sig))
		return set_handler(handler, SA_RESETHAND | SA_NODEFER, false);
	forget_mask(sig);
	return real(sysv_signal)(sig, handler);
}

ADSM_WRAPPER handler_function *__sysv_signal(int sig, handler_function *handler)
{
	return sysv_signal(sig, handler);
}

ADSM_WRAPPER int sigignore(int sig)
{
	if (is_ours(sig))
		return set_handler(SIG_IGN, 0, false) == SIG_ERR ? -1 : 0;
	forget_mask(sig);
	return real(sigignore)(sig);
}

ADSM_WRAPPER int siginterrupt(int sig, int interrupt)
{
	struct sigaction action, unused;

	if (!is_ours(sig))
		return real(siginterrupt)(sig, interrupt);
	atomic_store(&segv_interrupts, interrupt);
	if (segv_action(NULL, &action))
		return -1;
	action.sa_flags = interrupt ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
	return segv_action(&action, &unused);
}

/* ---- masks */

/* Take SIGSEGV out of a copy. A mask may be only as long as the kernel's. */
static bool strip(sigset_t *copy, const sigset_t *mask)
{
	bool has;

	sigemptyset(copy);
	copy->__val[0] = mask->__val[0];
	has = sigismember(copy, SIGSEGV);
	sigdelset(copy, SIGSEGV);
	return has;
}

static int change_mask(int (*call)(int, const sigset_t *, sigset_t *), int how, const sigset_t *mask, sigset_t *old)
{
	const bool was_blocked = adsm_sigsegv_blocked();
	sigset_t copy, was;
	bool has, shared = old && adsm_may_be_shared(old, sizeof(was.__val[0]));
	int error;

	if (!used())
		return call(how, mask, old);
	has = mask && strip(&copy, mask);
	/* SIGSEGV may be blocked after all, from before there was a reason not to. */
	if (has && how == SIG_UNBLOCK)
		sigaddset(&copy, SIGSEGV);
	error = call(how, mask ? &copy : NULL, shared ? &was : old);
	if (error)
		return error;
	if (shared)
		old->__val[0] = was.__val[0];
	if (old && was_blocked)
		sigaddset(old, SIGSEGV);
	if (mask)
		adsm_sigsegv_block(how == SIG_SETMASK || has ? has && how != SIG_UNBLOCK : was_blocked);
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

/* Masks of one word, from before there were more signals. */
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

static bool change_segv(int how)
{
	const bool was = adsm_sigsegv_blocked();

	/* The kernel may have it blocked from before there was a reason not to. */
	if (how == SIG_UNBLOCK)
		real(sigrelse)(SIGSEGV);
	adsm_sigsegv_block(how == SIG_BLOCK);
	return was;
}

ADSM_WRAPPER int sighold(int sig)
{
	if (!is_ours(sig))
		return real(sighold)(sig);
	change_segv(SIG_BLOCK);
	return 0;
}

ADSM_WRAPPER int sigrelse(int sig)
{
	if (!is_ours(sig))
		return real(sigrelse)(sig);
	change_segv(SIG_UNBLOCK);
	return 0;
}

ADSM_WRAPPER handler_function *sigset(int sig, handler_function *handler)
{
	struct sigaction action;

	if (!is_ours(sig)) {
		if (handler != SIG_HOLD)
			forget_mask(sig);
		return real(sigset)(sig, handler);
	}
	if (handler != SIG_HOLD) {
		handler_function *old = set_handler(handler, 0, false);

		return old == SIG_ERR || !change_segv(SIG_UNBLOCK) ? old : SIG_HOLD;
	}
	if (change_segv(SIG_BLOCK))
		return SIG_HOLD;
	return segv_action(NULL, &action) ? SIG_ERR : action.sa_handler;
}

ADSM_WRAPPER int pthread_attr_setsigmask_np(pthread_attr_t *attr, const sigset_t *mask)
{
	sigset_t copy;

	if (!mask || !used())
		return real(pthread_attr_setsigmask_np)(attr, mask);
	strip(&copy, mask);
	return real(pthread_attr_setsigmask_np)(attr, &copy);
}

/* ---- calls that have a mask while they last */

struct waiting {
	bool entered;
	struct adsm_sigsegv_mask old;
	sigset_t mask;
};

static const sigset_t *enter(struct waiting *waiting, const sigset_t *mask)
{
	if (!mask || !used())
		return mask;
	adsm_sigsegv_enter(strip(&waiting->mask, mask), &waiting->old);
	waiting->entered = true;
	return &waiting->mask;
}

static void leave(struct waiting *waiting)
{
	if (waiting->entered)
		adsm_sigsegv_leave(&waiting->old);
}

ADSM_WRAPPER int sigsuspend(const sigset_t *mask)
{
	struct waiting waiting ADSM_CLEANUP(leave) = { .entered = false };

	return real(sigsuspend)(enter(&waiting, mask));
}

ADSM_WRAPPER int __sigpause(int sig_or_mask, int is_sig)
{
	sigset_t mask;

	sigemptyset(&mask);
	if (!is_sig)
		mask.__val[0] = (unsigned)sig_or_mask;
	else if (pthread_sigmask(SIG_BLOCK, NULL, &mask) || sigdelset(&mask, sig_or_mask))
		return -1;
	return sigsuspend(&mask);
}

ADSM_WRAPPER int __xpg_sigpause(int sig)
{
	return __sigpause(sig, 1);
}

/* The headers know that name as the other one. */
ADSM_WRAPPER int adsm_sigpause(int mask) __asm__("sigpause");
int adsm_sigpause(int mask)
{
	return __sigpause(mask, 0);
}

/* An argument in shared memory that the system writes, and reads too where it is @valid before. */
struct lent {
	struct adsm_io io;
	struct iovec room[ADSM_IO_ROOM(1)];
};

static void lend_end(struct lent *lent)
{
	adsm_io_cleanup(&lent->io);
}

/* *ret_p: the argument's address for the system, where it is in one piece. 0, or a negative errno. */
static int lend(struct lent *lent, void *p, size_t size, bool valid, void *ret_p)
{
	int error = adsm_range_begin(&lent->io, &p, size, lent->room, valid ? ADSM_UPDATE : ADSM_INPUT);

	if (!error)
		*(void **)ret_p = p;
	return error;
}

static const struct timespec *get_timeout(const struct timespec *timeout, struct timespec *copy)
{
	if (adsm_may_be_shared(timeout, sizeof(*timeout)) && !adsm_io_copy(copy, timeout, sizeof(*copy)))
		return copy;
	return timeout;
}

ADSM_WRAPPER int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	struct waiting waiting ADSM_CLEANUP(leave) = { .entered = false };
	struct lent lent ADSM_CLEANUP(lend_end) = { 0 };
	struct timespec copy;
	int result;

	adsm_io_look_back(ADSM_STACK());
	if (lend(&lent, fds, n * sizeof(*fds), true, &fds))
		return adsm_refuse(EIO);
	result = real(ppoll)(fds, n, get_timeout(timeout, &copy), enter(&waiting, mask));
	if (adsm_io_end(&lent.io, result >= 0 || errno == EINTR ? n * sizeof(*fds) : 0))
		return adsm_refuse(EIO);
	return result;
}

ADSM_WRAPPER int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
			     size_t size)
{
	if (size / sizeof(*fds) < n)
		return real(__ppoll_chk)(fds, n, timeout, mask, size);
	return ppoll(fds, n, timeout, mask);
}

ADSM_WRAPPER int pselect(int n, fd_set *to_read, fd_set *to_write, fd_set *except, const struct timespec *timeout,
			 const sigset_t *mask)
{
	const size_t size = n > 0 ? ((size_t)n + 63) / 64 * sizeof(uint64_t) : 0;
	struct waiting waiting ADSM_CLEANUP(leave) = { .entered = false };
	struct lent lent_read ADSM_CLEANUP(lend_end) = { 0 }, lent_write ADSM_CLEANUP(lend_end) = { 0 };
	struct lent lent_except ADSM_CLEANUP(lend_end) = { 0 };
	struct timespec copy;
	int result;

	adsm_io_look_back(ADSM_STACK());
	if (lend(&lent_read, to_read, size, true, &to_read) || lend(&lent_write, to_write, size, true, &to_write) ||
	    lend(&lent_except, except, size, true, &except))
		return adsm_refuse(EIO);
	result = real(pselect)(n, to_read, to_write, except, get_timeout(timeout, &copy), enter(&waiting, mask));
	if (result >= 0 && (adsm_io_end(&lent_read.io, size) || adsm_io_end(&lent_write.io, size) ||
			    adsm_io_end(&lent_except.io, size)))
		return adsm_refuse(EIO);
	return result;
}

ADSM_WRAPPER int epoll_pwait(int fd, struct epoll_event *events, int n, int timeout, const sigset_t *mask)
{
	struct waiting waiting ADSM_CLEANUP(leave) = { .entered = false };
	struct lent lent ADSM_CLEANUP(lend_end) = { 0 };
	int result;

	adsm_io_look_back(ADSM_STACK());
	if (n > 0 && lend(&lent, events, (size_t)n * sizeof(*events), false, &events))
		return adsm_refuse(EIO);
	result = real(epoll_pwait)(fd, events, n, timeout, enter(&waiting, mask));
	if (adsm_io_end(&lent.io, result > 0 ? (size_t)result * sizeof(*events) : 0))
		return adsm_refuse(EIO);
	return result;
}

ADSM_WRAPPER int epoll_pwait2(int fd, struct epoll_event *events, int n, const struct timespec *timeout,
			      const sigset_t *mask)
{
	struct waiting waiting ADSM_CLEANUP(leave) = { .entered = false };
	struct lent lent ADSM_CLEANUP(lend_end) = { 0 };
	struct timespec copy;
	int result;

	adsm_io_look_back(ADSM_STACK());
	if (n > 0 && lend(&lent, events, (size_t)n * sizeof(*events), false, &events))
		return adsm_refuse(EIO);
	result = real(epoll_pwait2)(fd, events, n, get_timeout(timeout, &copy), enter(&waiting, mask));
	if (adsm_io_end(&lent.io, result > 0 ? (size_t)result * sizeof(*events) : 0))
		return adsm_refuse(EIO);
	return result;
}

/* ---- alternate stacks */

/* Faults on objects are served on such a stack once it is set: it must have room for that. */
static void check_size(const stack_t *stack)
{
	const size_t needed = getauxval(AT_MINSIGSTKSZ) + ADSM_SIGSEGV_STACK_TOLD;
	static atomic_bool told;

	if (!(stack->ss_flags & SS_DISABLE) && stack->ss_size < needed && !atomic_exchange(&told, true))
		adsm_warn("sigaltstack() with %zu bytes: touching shared memory on that thread may need %zu",
			  stack->ss_size, needed);
}

ADSM_WRAPPER int sigaltstack(const stack_t *stack, stack_t *old)
{
	const bool shared = adsm_may_be_shared(old, sizeof(*old));
	stack_t copy, was;
	int result;

	/* A sanitizer's start calls this: the sanitizer may look at nothing here where nothing is shared. */
	if (adsm_may_be_shared(stack, sizeof(copy)) && !adsm_io_copy(&copy, stack, sizeof(copy)))
		stack = &copy;
	result = real(sigaltstack)(stack, shared ? &was : old);
	if (!result && stack && used())
		check_size(stack);
	if (!result && shared && adsm_io_copy(old, &was, sizeof(was)))
		return adsm_refuse(EFAULT);
	return result;
}

/* ---- life */

/* Whoever started this program may have blocked SIGSEGV. Only where the process's sigprocmask is the wrapper. */
__attribute__((constructor(102))) static void begin(void)
{
	sigset_t mask;

	adsm_sigsegv_in_process();
	pthread_atfork(NULL, NULL, adsm_sigsegv_in_process);
	if (!sigprocmask(SIG_BLOCK, NULL, &mask) && sigismember(&mask, SIGSEGV))
		sigprocmask(SIG_SETMASK, &mask, NULL);
}
