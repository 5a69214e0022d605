/* SPDX-License-Identifier: MIT */
/* engine/sigsegv.c - fault engine: mprotect(), and SIGSEGV handled in the thread that faulted. */
#include "engine/sigsegv.h"

#include <errno.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/decode.h"
#include "base/os.h"
#include "base/syscall.h"
#include "engine/list.h"
#include "engine/mask.h"


static _Atomic(adsm_fault_handler *) fault_handler;	/* NULL: stopped; every fault is foreign */

static void on_signal(int sig, siginfo_t *info, void *context);

/* Held with every signal blocked: nothing may come in between, and nothing under it faults. */
static struct adsm_lock action_lock = ADSM_LOCK_INIT(ADSM_RANK_ACTION);
static struct sigaction ours, previous;			/* previous: the application's, as it believes it set */
static bool taken;					/* ours is the kernel's action */
static _Atomic int owner;				/* the process whose memory this is */

/* ---- masks and signals, in the handler */

/* SIG_DFL is all zeros. Not through libc: its sigaction() may be wrapped. */
static void set_default(int sig)
{
	static const uint64_t action[4];

	syscall(SYS_rt_sigaction, sig, action, NULL, KERNEL_SIGSET_SIZE);
}

static bool is_ignored(int sig)
{
	uint64_t action[4] = { 0 };	/* the handler comes first */

	syscall(SYS_rt_sigaction, sig, NULL, action, KERNEL_SIGSET_SIZE);
	return action[0] == (uintptr_t)SIG_IGN;
}

/* A fault of ours that cannot be served, as the kernel raises SIGBUS for a page that cannot be read. */
static void raise_sigbus(uintptr_t address, ucontext_t *context)
{
	siginfo_t info;

	/* What the instruction itself raises can be neither blocked nor ignored. */
	if (adsm_mask_bits(&context->uc_sigmask) & SIGNAL_BIT(SIGBUS) || is_ignored(SIGBUS)) {
		set_default(SIGBUS);
		sigdelset(&context->uc_sigmask, SIGBUS);
	}
	memset(&info, 0, sizeof(info));
	info.si_signo = SIGBUS;
	info.si_code = BUS_ADRERR;
	info.si_addr = (void *)address;
	adsm_signal_to_self(SIGBUS, &info);
}

/* The wrappers, where they are linked with this, have others. */
__attribute__((weak)) bool adsm_engine_sees_masks(void)
{
	return false;
}

__attribute__((weak)) int adsm_engine_sigaction(int sig, const struct sigaction *action, struct sigaction *old)
{
	return sigaction(sig, action, old);
}

/* ---- the application's action, of which the kernel does not know */

static void lock_action(uint64_t *ret_old)
{
	uint64_t all = UINT64_MAX;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, ret_old, KERNEL_SIGSET_SIZE);
	adsm_lock(&action_lock);
}

static void unlock_action(uint64_t old)
{
	adsm_unlock(&action_lock);
	adsm_mask_set(old);
}

/* Where our handler runs, and whether a system call goes on after it, is as the application's handler wants. */
static int follow(const struct sigaction *action)
{
	ours.sa_flags &= ~(SA_ONSTACK | SA_RESTART);
	if (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN)
		ours.sa_flags |= SA_ONSTACK | (action->sa_handler == SIG_IGN ? SA_RESTART : 0);
	else
		ours.sa_flags |= action->sa_flags & (SA_ONSTACK | SA_RESTART);
	return adsm_engine_sigaction(SIGSEGV, &ours, NULL) ? -errno : 0;
}

int adsm_sigsegv_action(const struct sigaction *action, struct sigaction *ret_old)
{
	const int flags = SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER |
		SA_RESETHAND;
	struct sigaction now;
	uint64_t old;
	int error;

	lock_action(&old);
	error = adsm_engine_sigaction(SIGSEGV, NULL, &now) ? -errno : 0;
	/* Not ours, but taken: in the child of vfork(), which has actions of its own, and our memory. */
	if (!error && (!taken || getpid() != atomic_load(&owner))) {
		error = action && adsm_engine_sigaction(SIGSEGV, action, NULL) ? -errno : 0;
	} else if (!error) {
		struct sigaction found = now;

		/* Who took the signal from us by other means is told of, and replaced. */
		if (now.sa_sigaction == on_signal)
			found = previous;
		if (action) {
			/* As the kernel and the C library keep it, so that it reads the same. */
			previous = *action;
			previous.sa_flags = (action->sa_flags & flags) | (now.sa_flags & ~flags);
			previous.sa_restorer = now.sa_restorer;
			sigdelset(&previous.sa_mask, SIGKILL);
			sigdelset(&previous.sa_mask, SIGSTOP);
			error = follow(&previous);
		}
		now = found;
	}
	unlock_action(old);
	if (!error)
		*ret_old = now;
	return error;
}

void adsm_sigsegv_in_process(void)
{
	/* Whoever held the lock is not in the child. */
	atomic_store(&action_lock.word, 0);
	atomic_store(&owner, getpid());
	adsm_mask_in_process();
}

/* For one signal: the kernel forgets a handler with SA_RESETHAND when it starts it. */
static struct sigaction use_action(void)
{
	struct sigaction action;
	uint64_t old;

	lock_action(&old);
	action = previous;
	if (action.sa_flags & SA_RESETHAND && action.sa_handler != SIG_IGN)
		previous.sa_handler = SIG_DFL;
	unlock_action(old);
	return action;
}

static ucontext_t been_here;	/* marks the context of a signal that is being forwarded */

/* Do with a signal what the kernel would have done, had we not been there. */
static void forward(int sig, siginfo_t *info, ucontext_t *context)
{
	const bool sent = info->si_code <= 0;	/* by a process; else raised by the instruction itself */
	struct sigaction action;
	uint64_t mask;

	/* Fresh from the kernel it is NULL. */
	if (context->uc_link == &been_here) {
		set_default(sig);
		if (sent)
			adsm_signal_to_self(sig, info);
		return;
	}
	adsm_mask_found(context);
	mask = adsm_mask_of(context, sent);
	if (adsm_mask_is_blocked(mask)) {
		if (sent)
			adsm_mask_keep(info);
		else
			set_default(sig);
		return;
	}
	action = use_action();
	if (action.sa_handler == SIG_IGN && sent)
		return;
	if (action.sa_handler == SIG_IGN || action.sa_handler == SIG_DFL) {
		/* The instruction faults again, at once and for good; what was sent is sent again. */
		set_default(sig);
		if (sent)
			adsm_signal_to_self(sig, info);
		return;
	}
	/* Whom we forward to may in turn forward to us, who took the signal before it did. */
	context->uc_link = &been_here;
	adsm_mask_call_handler(&action, sig, info, context, mask);
	context->uc_link = NULL;
}

static bool has_room(const ucontext_t *context)
{
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0), end = (uintptr_t)context->uc_stack.ss_sp;

	/* What the kernel puts there is all on the alternate stack; this may be beyond the end already. */
	return (uintptr_t)context - end >= context->uc_stack.ss_size ||
		here + ADSM_SIGSEGV_STACK - end >= 2 * ADSM_SIGSEGV_STACK;
}

/* Told without the formatter: that needs more room than there is. */
static void tell_cramped(void)
{
	static const char text[] = "adsm: error: shared memory is touched on an alternate stack that is too small: "
		"sigaltstack() with getauxval(AT_MINSIGSTKSZ) + 4096 bytes, at least\n";

	adsm_os_write(2, text, sizeof(text) - 1);
}

/* FOREIGN, SERVED or LOST. All signals are blocked; errno is kept. */
static enum adsm_fault_result serve(const siginfo_t *info, const ucontext_t *context)
{
	const int saved_errno = errno;
	adsm_fault_handler *handler = atomic_load(&fault_handler);
	uintptr_t instruction;
	bool write;

	if (!handler || (info->si_code != SEGV_MAPERR && info->si_code != SEGV_ACCERR) ||
	    !adsm_decode_fault(context, &instruction, &write))
		return ADSM_FAULT_FOREIGN;
	for (;;) {
		struct adsm_fault fault = {
			.address = (uintptr_t)info->si_addr,
			.instruction = instruction,
			.caller = adsm_decode_caller(context),
			.stack = adsm_decode_stack(context),
			.context = context,
			.write = write,
			.cramped = !has_room(context),
		};
		enum adsm_fault_result result = handler(&fault);

		if (fault.cramped && result == ADSM_FAULT_LOST) {
			tell_cramped();
			/* The instruction faults again, for good. */
			set_default(SIGSEGV);
			result = ADSM_FAULT_SERVED;
		}
		errno = saved_errno;
		if (result != ADSM_FAULT_WAIT)
			return result;
		/* The application's signal handlers run meanwhile, and may never come back. */
		adsm_mask_set(adsm_mask_bits(&context->uc_sigmask));
		fault.wait(&fault);
		adsm_mask_set(UINT64_MAX);
		errno = saved_errno;
	}
}

/*
 * Somebody sent it while this thread has a lock that its handler may want: it comes again as soon as the mask is
 * restored that the interrupted code had before. What an instruction raises cannot wait.
 */
static bool keep(int sig, const siginfo_t *info, ucontext_t *context)
{
	if (info->si_code > 0 || !adsm_os_signals_are_blocked(adsm_mask_bits(&context->uc_sigmask)))
		return false;
	adsm_signal_to_self(sig, info);
	sigaddset(&context->uc_sigmask, sig);
	return true;
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	enum adsm_fault_result result;

	if (keep(sig, info, context))
		return;
	result = serve(info, context);
	if (result == ADSM_FAULT_FOREIGN)
		forward(sig, info, context);
	else if (result == ADSM_FAULT_LOST)
		raise_sigbus((uintptr_t)info->si_addr, context);
}

bool adsm_sigsegv_handle(int sig, siginfo_t *info, void *context)
{
	enum adsm_fault_result result;
	uint64_t all = UINT64_MAX, old;

	if (sig != SIGSEGV)
		return false;
	if (keep(sig, info, context))
		return true;
	/* As in our own handler: cancellation is as it was, since a handler may leave while this waits. */
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &old, KERNEL_SIGSET_SIZE);
	result = serve(info, context);
	adsm_mask_set(old);
	if (result == ADSM_FAULT_LOST)
		raise_sigbus((uintptr_t)info->si_addr, context);
	return result != ADSM_FAULT_FOREIGN;
}

/* ---- the engine */

static int take(adsm_fault_handler *handler)
{
	struct sigaction found;
	int error;

	if (adsm_engine_sigaction(SIGSEGV, NULL, &found))
		return -errno;
	/*
	 * All are masked: handlers may touch objects, and wait for locks of this thread. Not by sigfillset(), which
	 * leaves out what the C library keeps for itself: a cancelled thread keeps a lock. SIGSEGV too: our handler
	 * raises none but where its stack is too small, and each would begin at the top of that stack, for ever.
	 */
	ours = (struct sigaction){ .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	memset(&ours.sa_mask, 0xff, sizeof(ours.sa_mask));
	/* Chained to by somebody who had it after us: forward to where we did. */
	if (found.sa_sigaction != on_signal)
		previous = found;
	atomic_store(&fault_handler, handler);
	error = follow(&previous);
	if (error) {
		atomic_store(&fault_handler, NULL);
		return error;
	}
	atomic_store(&owner, getpid());
	taken = true;
	return 0;
}

static int start(adsm_fault_handler *handler)
{
	const bool hides = adsm_engine_sees_masks();
	uint64_t old;
	int error;

	lock_action(&old);
	error = take(handler);
	unlock_action(old);
	if (error)
		return error;
	if (hides)
		adsm_mask_hide(false);
	else
		/* As it may be after a handler that ran before this, and was left by longjmp(). */
		adsm_mask_unblock();
	return 0;
}

static void stop(void)
{
	struct sigaction now;
	uint64_t old;

	atomic_store(&fault_handler, NULL);
	lock_action(&old);
	/* Somebody who took the signal after us may still call us: then all is forwarded. */
	if (!adsm_engine_sigaction(SIGSEGV, NULL, &now) && now.sa_sigaction == on_signal)
		adsm_engine_sigaction(SIGSEGV, &previous, NULL);
	taken = false;
	unlock_action(old);
}

/* What is closed is so by the system's protection of pages: there is nothing to begin, and nothing to end. */
static int attach(void *view, size_t size, bool exact)
{
	return 0;
}

static void detach(void *view, size_t size)
{
}

static int permit(void *view, size_t size, enum adsm_prot was, enum adsm_prot now)
{
	return adsm_os_protect(view, size, now);
}

/* Every first write to a page faults. */
static int collect_none(void *view, size_t size, adsm_written_handler *written, void *arg)
{
	return 0;
}

const struct adsm_engine adsm_engine_sigsegv = {
	.name = "sigsegv",
	.start = start,
	.stop = stop,
	.attach = attach,
	.detach = detach,
	.permit = permit,
	.collect = collect_none,
};
