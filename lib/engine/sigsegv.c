/* SPDX-License-Identifier: MIT */
/* engine/sigsegv.c - the fault engine that closes pages by mprotect(), and handles SIGSEGV in the thread that
 * faulted. */
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


static _Atomic(adsm_fault_handler *) fault_handler;	/* NULL: stopped, and all faults are foreign */

static void on_signal(int sig, siginfo_t *info, void *context);

/* Held with all signals blocked: no handler interrupts its holder, and no code under it faults. */
static struct adsm_lock action_lock = ADSM_LOCK_INIT(ADSM_RANK_ACTION);
/* previous: the action that the application believes to have set */
static struct sigaction ours, previous;
static bool taken;					/* ours is the kernel's action */
static _Atomic int owner;				/* the process that this memory belongs to */

/* ---- masks and signals, in the handler */

/* SIG_DFL is all zeros. Not by the C library's sigaction(), which may be wrapped. */
static void set_default(int sig)
{
	static const uint64_t action[4];

	syscall(SYS_rt_sigaction, sig, action, NULL, KERNEL_SIGSET_SIZE);
}

static bool is_ignored(int sig)
{
	uint64_t action[4] = { 0 };	/* the kernel's structure begins with the handler */

	syscall(SYS_rt_sigaction, sig, NULL, action, KERNEL_SIGSET_SIZE);
	return action[0] == (uintptr_t)SIG_IGN;
}

/* The library's fault cannot be served: raise SIGBUS, like the kernel for a page that cannot be read. */
static void raise_sigbus(uintptr_t address, ucontext_t *context)
{
	siginfo_t info;

	/* A signal that an instruction raises can be neither blocked nor ignored. */
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

/* If the wrappers are linked with the library, they define these functions instead. */
__attribute__((weak)) bool adsm_engine_sees_masks(void)
{
	return false;
}

__attribute__((weak)) int adsm_engine_sigaction(int sig, const struct sigaction *action, struct sigaction *old)
{
	return sigaction(sig, action, old);
}

/* ---- the application's action, which the kernel does not know */

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

/* The library's handler runs on the stack that the application's action asks for, and system calls restart as it
 * asks. */
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
	/* In the child of vfork(): it has the parent's memory, but actions of its own. So `taken` is true, but not for
	 * this process. */
	if (!error && (!taken || getpid() != atomic_load(&owner))) {
		error = action && adsm_engine_sigaction(SIGSEGV, action, NULL) ? -errno : 0;
	} else if (!error) {
		struct sigaction found = now;

		/* If other code has taken the signal by other means, its action is reported, and replaced. */
		if (now.sa_sigaction == on_signal)
			found = previous;
		if (action) {
			/* Stored as the kernel and the C library store it, so that reading it gives the same. */
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
	/* In the child, the thread that held the lock does not exist. */
	atomic_store(&action_lock.word, 0);
	atomic_store(&owner, getpid());
	adsm_mask_in_process();
}

/* Get the action for one signal. Like the kernel, forget a handler with SA_RESETHAND when it is about to start. The
 * child of vfork() does this in its own action, because `previous` is its parent's. */
static struct sigaction use_action(void)
{
	struct sigaction action;
	uint64_t old;

	lock_action(&old);
	action = previous;
	if (action.sa_flags & SA_RESETHAND && action.sa_handler != SIG_IGN) {
		if (getpid() == atomic_load(&owner))
			previous.sa_handler = SIG_DFL;
		else
			set_default(SIGSEGV);
	}
	unlock_action(old);
	return action;
}

static ucontext_t been_here;	/* marks the context of a signal that is being forwarded */

/* Handle a signal as the kernel would if the library had not taken it. */
static void forward(int sig, siginfo_t *info, ucontext_t *context)
{
	const bool sent = info->si_code <= 0;	/* sent by a process; else an instruction has raised it */
	struct sigaction action;
	uint64_t mask;

	/* In a context from the kernel it is NULL. */
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
		/* The instruction faults again immediately, and ends the process. A signal that was sent is sent
		 * again. */
		set_default(sig);
		if (sent)
			adsm_signal_to_self(sig, info);
		return;
	}
	/* The handler that this forwards to may have taken the signal before the library did, and forward to the
	 * library again. */
	context->uc_link = &been_here;
	adsm_mask_call_handler(&action, sig, info, context, mask);
	context->uc_link = NULL;
}

static bool has_room(const ucontext_t *context)
{
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0), end = (uintptr_t)context->uc_stack.ss_sp;

	/* The kernel's frame lies on the alternate stack; this function's frame may be beyond its end already. */
	return (uintptr_t)context - end >= context->uc_stack.ss_size ||
		here + ADSM_SIGSEGV_STACK - end >= 2 * ADSM_SIGSEGV_STACK;
}

/* Written without the formatter, which needs more stack than there is. */
static void tell_cramped(void)
{
	static const char text[] = "adsm: error: a touch of shared memory on an alternate stack that is too small: "
				   "give sigaltstack() at least getauxval(AT_MINSIGSTKSZ) + 4096 bytes\n";

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
			/* The instruction faults again, and ends the process. */
			set_default(SIGSEGV);
			result = ADSM_FAULT_SERVED;
		}
		errno = saved_errno;
		if (result != ADSM_FAULT_WAIT)
			return result;
		/* Meanwhile signal handlers of the application may run, and may leave by a jump. */
		adsm_mask_set(adsm_mask_bits(&context->uc_sigmask));
		fault.wait(&fault);
		adsm_mask_set(UINT64_MAX);
		errno = saved_errno;
	}
}

/* The signal was sent while this thread has a lock that a handler may need. It is sent again, to come when the
 * interrupted code's old mask is restored. A signal that an instruction raises cannot wait. */
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
	/* As in the library's own handler: cancellation stays as it is, as another handler may leave while this
	 * waits. */
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
	 * All signals are blocked in the handler: other handlers may touch objects, and wait for locks that this thread
	 * has. Not by sigfillset(), which leaves out signals that the C library keeps for itself: a thread that is
	 * cancelled would keep a lock. SIGSEGV too: the library's handler only raises it if its stack is too small, and
	 * then each handler would begin at the top of that stack, without end.
	 */
	ours = (struct sigaction){ .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	memset(&ours.sa_mask, 0xff, sizeof(ours.sa_mask));
	/* If the action found is the library's already, a handler that took the signal later forwards to it. Then
	 * `previous` stays. */
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
		/* SIGSEGV may be blocked if a handler ran before this, and was left by longjmp(). */
		adsm_mask_unblock();
	return 0;
}

static void stop(void)
{
	struct sigaction now;
	uint64_t old;

	atomic_store(&fault_handler, NULL);
	lock_action(&old);
	/* A handler that took the signal later may still call the library's handler: then all faults are forwarded. */
	if (!adsm_engine_sigaction(SIGSEGV, NULL, &now) && now.sa_sigaction == on_signal)
		adsm_engine_sigaction(SIGSEGV, &previous, NULL);
	taken = false;
	unlock_action(old);
}

/* Pages are closed by the system's protection, so there is nothing to begin or to end. */
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

/* There is nothing to report: the first write to each page faults. */
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
