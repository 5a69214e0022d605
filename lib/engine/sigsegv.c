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

#define OVERRUN ((uintptr_t)65536)	/* so far below its end a stack that ends is used at first */

static _Atomic(adsm_fault_handler *) fault_handler;	/* NULL: stopped; every fault is foreign */

static void on_signal(int sig, siginfo_t *info, void *context);

/* Held with every signal blocked: nothing may come in between, and nothing under it faults. */
static struct adsm_lock action_lock = ADSM_LOCK_INIT(ADSM_RANK_ACTION);
static struct sigaction ours, previous;			/* previous: the application's, as it believes it set */
static bool taken;					/* ours is the kernel's action */
static _Atomic int owner;				/* the process whose memory this is */

/*
 * Somebody has set a mask or an action by way of us: so SIGSEGV is never blocked in the kernel, where a fault on
 * an object would then kill. Else the wrappers are not in force, and masks are the kernel's.
 */
static atomic_bool is_virtual;
/* What this thread believes of SIGSEGV's bit in its mask. */
static _Thread_local struct {
	struct adsm_sigsegv_mask belief;
	bool has_pending;				/* one was sent while it was blocked */
	siginfo_t pending;
} mine;

/* ---- masks and signals, in the handler */

/* The kernel stores only this much of a sigset_t in the context. */
static uint64_t mask_bits(const sigset_t *set)
{
	uint64_t bits;

	memcpy(&bits, set, sizeof(bits));
	return bits;
}

static void set_mask(uint64_t bits)
{
	const int saved_errno = errno;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &bits, NULL, KERNEL_SIGSET_SIZE);
	errno = saved_errno;
}

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

/* To this thread, on its return from the handler: the mask that return restores lets it through. */
static void queue_to_self(int sig, const siginfo_t *info)
{
	const int saved_errno = errno;
	uint64_t bit = SIGNAL_BIT(sig);

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &bit, NULL, KERNEL_SIGSET_SIZE);
	/* Where a filter forbids that, the signal alone is better than to fault for ever. */
	if (syscall(SYS_rt_tgsigqueueinfo, getpid(), adsm_os_thread_id(), sig, info))
		syscall(SYS_tgkill, getpid(), adsm_os_thread_id(), sig);
	errno = saved_errno;
}

/* A fault of ours that cannot be served, as the kernel raises SIGBUS for a page that cannot be read. */
static void raise_sigbus(uintptr_t address, ucontext_t *context)
{
	siginfo_t info;

	/* What the instruction itself raises can be neither blocked nor ignored. */
	if (mask_bits(&context->uc_sigmask) & SIGNAL_BIT(SIGBUS) || is_ignored(SIGBUS)) {
		set_default(SIGBUS);
		sigdelset(&context->uc_sigmask, SIGBUS);
	}
	memset(&info, 0, sizeof(info));
	info.si_signo = SIGBUS;
	info.si_code = BUS_ADRERR;
	info.si_addr = (void *)address;
	queue_to_self(SIGBUS, &info);
}

/* The wrappers, where they are linked with this, have another that is never one of theirs. */
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
	set_mask(old);
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

	atomic_store(&is_virtual, true);
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
	mine.has_pending = false;
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

/* ---- the mask, of which the kernel does not know */

/* Whether code with this stack pointer was called by the frame that @mask belongs to. */
static bool is_inside(const struct adsm_sigsegv_mask *mask, uintptr_t sp)
{
	return sp < mask->frame && sp >= mask->stack;
}

static uint64_t kernel_mask(void)
{
	uint64_t bits = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &bits, KERNEL_SIGSET_SIZE);
	return bits;
}

/*
 * Not where a handler has been left by longjmp(), nor where one that blocked it has returned: that does not say so.
 * In doubt it is not blocked.
 */
static bool is_blocked(uintptr_t sp, uint64_t mask)
{
	struct adsm_sigsegv_mask *belief = &mine.belief;

	if (belief->blocked && (belief->bounded ? !is_inside(belief, sp) : (belief->others & ~mask) != 0))
		belief->blocked = false;
	return belief->blocked;
}

/* What came while it was blocked comes again, as soon as the kernel's mask, in which it now is, lets it through. */
static bool queue_pending(void)
{
	const siginfo_t info = mine.pending;

	if (!mine.has_pending)
		return false;
	mine.has_pending = false;
	queue_to_self(SIGSEGV, &info);
	return true;
}

static void unblock_in_kernel(void)
{
	uint64_t bit = SIGNAL_BIT(SIGSEGV);

	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, KERNEL_SIGSET_SIZE);
}

bool adsm_sigsegv_blocked(void)
{
	return mine.belief.blocked && is_blocked((uintptr_t)__builtin_frame_address(0), kernel_mask());
}

void adsm_sigsegv_block(bool blocked)
{
	atomic_store(&is_virtual, true);
	/* In the child of vfork() this is the parent's memory, and not the parent's mask. */
	if (getpid() != atomic_load(&owner))
		return;
	if (blocked && !mine.belief.blocked)
		mine.belief = (struct adsm_sigsegv_mask){
			.blocked = true,
			.frame = (uintptr_t)__builtin_frame_address(0),
		};
	if (blocked && !mine.belief.bounded)
		mine.belief.others = kernel_mask();
	mine.belief.blocked = blocked;
	if (!blocked && queue_pending())
		unblock_in_kernel();
}

void adsm_sigsegv_enter(bool blocked, struct adsm_sigsegv_mask *ret_old)
{
	adsm_sigsegv_blocked();
	*ret_old = mine.belief;
	mine.belief = (struct adsm_sigsegv_mask){
		.blocked = blocked,
		.bounded = true,
		.frame = (uintptr_t)ret_old,
	};
	/* The call that changes the mask lets it through, and is told so by the kernel. */
	ret_old->queued = !blocked && queue_pending();
}

void adsm_sigsegv_leave(const struct adsm_sigsegv_mask *old)
{
	mine.belief = *old;
	if (old->queued)
		unblock_in_kernel();
}

void adsm_sigsegv_jump(uintptr_t stack, bool restores_mask)
{
	const bool other_stack = stack < (uintptr_t)__builtin_frame_address(0);

	if (mine.belief.blocked && (mine.belief.bounded || restores_mask) &&
	    (other_stack || !is_inside(&mine.belief, stack)))
		adsm_sigsegv_block(false);
}

/* ---- the handler */

static void call_handler(const struct sigaction *action, int sig, siginfo_t *info, ucontext_t *context)
{
	const uintptr_t frame = (uintptr_t)__builtin_frame_address(0), stack = (uintptr_t)context->uc_stack.ss_sp;
	const bool defer = !(action->sa_flags & SA_NODEFER) || sigismember(&action->sa_mask, sig);
	const bool pretend = atomic_load(&is_virtual);
	uint64_t mask = mask_bits(&context->uc_sigmask) | mask_bits(&action->sa_mask) | (defer ? SIGNAL_BIT(sig) : 0);

	/* The handler may touch objects. */
	if (pretend)
		mask &= ~SIGNAL_BIT(sig);
	if (pretend && defer)
		mine.belief = (struct adsm_sigsegv_mask){
			.blocked = true,
			.bounded = true,
			.frame = frame,
			.stack = frame - stack < context->uc_stack.ss_size ? stack : 0,
		};
	set_mask(mask);
	if (action->sa_flags & SA_SIGINFO)
		action->sa_sigaction(sig, info, context);
	else
		action->sa_handler(sig);
	if (pretend) {
		mine.belief.blocked = false;
		queue_pending();
	}
}

static ucontext_t been_here;	/* marks the context of a signal that is being forwarded */

/* Do with a signal what the kernel would have done, had we not been there. */
static void forward(int sig, siginfo_t *info, ucontext_t *context)
{
	const bool sent = info->si_code <= 0;	/* by a process; else raised by the instruction itself */
	const uintptr_t alternate = (uintptr_t)context->uc_stack.ss_sp;
	uintptr_t sp = adsm_decode_stack(context);
	struct sigaction action;

	/* What is on the alternate stack was not called from any other. */
	if (mine.belief.bounded && !mine.belief.stack && sp - alternate < context->uc_stack.ss_size)
		mine.belief.blocked = false;
	/* Its handler has not been left, but has gone beyond the end of that stack. */
	if (!sent && mine.belief.stack - (uintptr_t)info->si_addr - 1 < OVERRUN)
		sp = mine.belief.stack;
	/* Fresh from the kernel it is NULL. */
	if (context->uc_link == &been_here) {
		set_default(sig);
		if (sent)
			queue_to_self(sig, info);
		return;
	}
	if (is_blocked(sp, mask_bits(&context->uc_sigmask))) {
		if (sent) {
			mine.pending = *info;
			mine.has_pending = true;
		} else {
			set_default(sig);
		}
		return;
	}
	action = use_action();
	if (action.sa_handler == SIG_IGN && sent)
		return;
	if (action.sa_handler == SIG_IGN || action.sa_handler == SIG_DFL) {
		/* The instruction faults again, at once and for good; what was sent is sent again. */
		set_default(sig);
		if (sent)
			queue_to_self(sig, info);
		return;
	}
	/* Whom we forward to may in turn forward to us, who took the signal before it did. */
	context->uc_link = &been_here;
	call_handler(&action, sig, info, context);
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
		set_mask(mask_bits(&context->uc_sigmask));
		fault.wait(&fault);
		set_mask(UINT64_MAX);
		errno = saved_errno;
	}
}

/*
 * Somebody sent it while this thread has a lock that its handler may want: it comes again as soon as the mask is
 * restored that the interrupted code had before. What an instruction raises cannot wait.
 */
static bool keep(int sig, const siginfo_t *info, ucontext_t *context)
{
	if (info->si_code > 0 || !adsm_os_signals_are_blocked(mask_bits(&context->uc_sigmask)))
		return false;
	queue_to_self(sig, info);
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
	set_mask(old);
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
	uint64_t old;
	int error;

	lock_action(&old);
	error = take(handler);
	unlock_action(old);
	/* As it may be after a handler that ran before this, and was left by longjmp(). */
	if (!error)
		unblock_in_kernel();
	return error;
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
