/* SPDX-License-Identifier: MIT */
/* engine/mask.c - SIGSEGV in the masks of the program's threads. */
#include "engine/mask.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/decode.h"
#include "base/log.h"
#include "base/os.h"
#include "base/syscall.h"

#define SEGV SIGNAL_BIT(SIGSEGV)
#define STAND_IN SIGNAL_BIT(SIGSTKFLT)
/* The last two belong to the C library. */
#define NEVER_BLOCKED (SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP) | SIGNAL_BIT(32) | SIGNAL_BIT(33))
/* bytes of stack that the call needs at most; the frames of handlers are larger */
#define CALL_DEPTH ((uintptr_t)1024)

atomic_bool adsm_mask_hidden;
/* All threads' masks hide SIGSEGV, and have done so since there was only one thread. */
static bool all_are_ready;
/* Threads that had SIGSTKFLT blocked when the library started, and not SIGSEGV. In the first known mask of any other
 * thread SIGSTKFLT stands for SIGSEGV, which the thread has inherited from the thread that made it. */
#define MAX_OWN 256
static int own[MAX_OWN];
static size_t n_own;
static atomic_bool own_known;				/* false: unknown, any thread may be one */
/* the process that this memory belongs to; for the child of vfork(), the parent */
static atomic_int process;
static _Thread_local struct {
	/* See believes(). The second one is of a child of vfork(), which uses its parent's memory. */
	uint64_t stand_in[2];
	int child;					/* that child; 0: none */
	/* the process where this thread's mask hides SIGSEGV; 0: none yet */
	int ready_in;
	struct adsm_mask_call call;			/* the current system call with its own mask, if any */
	bool has_pending;				/* a SIGSEGV was sent while the program had it blocked */
	int pending_of;					/* the process that it was sent to */
	siginfo_t pending;
} mine;

bool adsm_mask_is_vforked(void)
{
	return getpid() != atomic_load_explicit(&process, memory_order_relaxed);
}

/* Nearly always both are 0, and no thread has to find out which process it is in. */
static bool have_stand_in(void)
{
	return mine.stand_in[0] | mine.stand_in[1];
}

static uint64_t *stand_in_here(void)
{
	const int child = adsm_mask_is_vforked() ? getpid() : 0;

	if (mine.child != child) {
		/* The child begins with its parent's mask. */
		mine.stand_in[1] = child ? mine.stand_in[0] : 0;
		mine.child = child;
	}
	return &mine.stand_in[child != 0];
}

void adsm_mask_set(uint64_t bits)
{
	const int saved_errno = errno;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &bits, NULL, KERNEL_SIGSET_SIZE);
	errno = saved_errno;
}

/* Sent to this thread. It is delivered on the return from the handler, if the mask that the return restores permits
 * it. */
void adsm_signal_to_self(int sig, const siginfo_t *info)
{
	const int saved_errno = errno;
	uint64_t bit = SIGNAL_BIT(sig);

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &bit, NULL, KERNEL_SIGSET_SIZE);
	/* If a filter of system calls forbids that, the signal without its info is better than endless faults. */
	if (syscall(SYS_rt_tgsigqueueinfo, getpid(), adsm_os_thread_id(), sig, info))
		syscall(SYS_tgkill, getpid(), adsm_os_thread_id(), sig);
	errno = saved_errno;
}

static uint64_t kernel_mask(void)
{
	uint64_t bits = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &bits, KERNEL_SIGSET_SIZE);
	return bits;
}

static bool hides(void)
{
	return atomic_load_explicit(&adsm_mask_hidden, memory_order_relaxed);
}

/* The program blocks the signals of @mask. If SIGSTKFLT is among them, note it together with the others. */
static void note_stand_in(uint64_t mask)
{
	if (mask & STAND_IN || have_stand_in())
		*stand_in_here() = mask & STAND_IN ? mask & ~(SEGV | NEVER_BLOCKED) : 0;
}

/*
 * Does the program believe that it has blocked SIGSTKFLT itself? The program can only read back what it wrote, so the
 * answer may be inexact: if some signals that were blocked with it are no longer blocked, another mask has been
 * restored.
 */
static bool believes(uint64_t mask)
{
	const uint64_t stand_in = have_stand_in() ? *stand_in_here() : 0;

	return stand_in && !(stand_in & ~(mask | STAND_IN));
}

/* Has this thread inherited the mask from a thread whose mask hid SIGSEGV? */
static bool is_inherited(uint64_t mask)
{
	const int thread = adsm_os_thread_id();

	if ((mask & (SEGV | STAND_IN)) != STAND_IN || !atomic_load(&own_known))
		return false;
	for (size_t i = 0; i < n_own; i++)
		if (own[i] == thread)
			return false;
	return true;
}

static bool is_ready(void)
{
	return all_are_ready ||
		(mine.ready_in && mine.ready_in == atomic_load_explicit(&process, memory_order_relaxed));
}

/* @mask may be from before this thread's mask hid SIGSEGV. SIGSTKFLT in it then says nothing about SIGSEGV. */
static uint64_t make_ready(uint64_t mask)
{
	const int self = is_ready() ? 0 : getpid();

	/* The child of vfork() has its parent's memory, but a mask of its own. */
	if (!self || mine.ready_in == self)
		return mask;
	mine.ready_in = self;
	if (is_inherited(mask))
		return mask;
	note_stand_in(mask);
	return adsm_mask_to_kernel(mask);
}

void adsm_mask_thread(void)
{
	uint64_t mask;

	if (is_ready())
		return;
	/* While the library has all signals blocked, this is not the program's mask. */
	mask = kernel_mask();
	if (!adsm_os_signals_are_blocked(mask))
		adsm_mask_set(make_ready(mask));
}

void adsm_mask_in_process(void)
{
	const int self = getpid();

	/* A child of fork() has one thread, with its parent's mask. */
	if (mine.ready_in && mine.ready_in == atomic_load(&process))
		mine.ready_in = self;
	atomic_store(&process, self);
}

uint64_t adsm_mask_to_program(uint64_t mask)
{
	return (mask & ~STAND_IN) | (mask & STAND_IN ? SEGV : 0) | (believes(mask) ? STAND_IN : 0);
}

/* Send the signal that came while it was blocked again. It is delivered as soon as the kernel's mask, which contains it
 * now, permits it. */
static bool queue_pending(void)
{
	const siginfo_t info = mine.pending;

	/* In the child of vfork() `mine` is the parent's. */
	if (!mine.has_pending || getpid() != mine.pending_of)
		return false;
	mine.has_pending = false;
	adsm_signal_to_self(SIGSEGV, &info);
	return true;
}

void adsm_mask_unblock(void)
{
	uint64_t bit = SEGV;

	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, KERNEL_SIGSET_SIZE);
}

static uint64_t mask_of_thread(const char *thread)
{
	char path[64], text[4096];
	const char *at;

	adsm_format(path, sizeof(path), "/proc/self/task/%s/status", thread);
	at = strstr(adsm_os_read_text(path, text, sizeof(text)), "SigBlk:");
	return at ? strtoull(at + strlen("SigBlk:"), NULL, 16) : STAND_IN;
}

/* New threads are made meanwhile by callers of adsm_mask_thread(), so their masks hide SIGSEGV. */
static void find_own(void)
{
	DIR *folder = opendir("/proc/self/task");
	const struct dirent *entry;

	while (folder && n_own < MAX_OWN && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && (mask_of_thread(entry->d_name) & (SEGV | STAND_IN)) == STAND_IN)
			own[n_own++] = atoi(entry->d_name);
	atomic_store(&own_known, folder && n_own < MAX_OWN);
	if (folder)
		closedir(folder);
}

void adsm_mask_hide(bool first)
{
	const bool again = atomic_exchange(&adsm_mask_hidden, true);
	uint64_t mask;

	adsm_mask_thread();
	mask = kernel_mask();
	/* While the library was stopped, the kernel blocked SIGSEGV for a handler of the program, and a jump without a
	 * mask left the handler. */
	if (mask & SEGV && !adsm_os_signals_are_blocked(mask))
		adsm_mask_set(adsm_mask_to_kernel(mask));
	if (first)
		all_are_ready = true;
	else if (!again)
		find_own();
}

void adsm_mask_changed(int how, uint64_t mask)
{
	if (how == SIG_UNBLOCK && have_stand_in())
		*stand_in_here() &= mask & STAND_IN ? 0 : ~mask;
	else if (how == SIG_SETMASK || (how == SIG_BLOCK && mask & STAND_IN))
		note_stand_in(mask);
	if (mine.has_pending && !(kernel_mask() & STAND_IN) && queue_pending())
		adsm_mask_unblock();
}

void adsm_mask_enter(uint64_t mask, struct adsm_mask_call *ret_outer)
{
	adsm_mask_thread();
	*ret_outer = mine.call;
	mine.call = (struct adsm_mask_call){
		.frame = (uintptr_t)__builtin_frame_address(0) + CALL_DEPTH / 2,
		.mask = adsm_mask_to_kernel(mask),
	};
	ret_outer->queued = !(mask & SEGV) && queue_pending();
}

void adsm_mask_leave(const struct adsm_mask_call *outer)
{
	mine.call = *outer;
	if (outer->queued)
		adsm_mask_unblock();
}

void adsm_mask_jump(uintptr_t stack)
{
	/* Between two stacks this is a guess. A call that is forgotten too early has been interrupted by a handler, and
	 * ends when that returns. */
	if (mine.call.frame - CALL_DEPTH / 2 < stack)
		mine.call.frame = 0;
}

uint64_t adsm_mask_expose(void)
{
	uint64_t mask;

	adsm_mask_thread();
	mask = kernel_mask();
	adsm_mask_set(adsm_mask_to_program(mask));
	return mask;
}

void adsm_mask_unexpose(uint64_t mask)
{
	adsm_mask_set(mask);
}

void adsm_mask_keep(const siginfo_t *info)
{
	/* There is room for one: in the child of vfork() the parent's stays, and the child's is lost. */
	if (mine.has_pending && mine.pending_of != getpid() && adsm_mask_is_vforked())
		return;
	mine.pending = *info;
	mine.pending_of = getpid();
	mine.has_pending = true;
}

static void set_context_mask(ucontext_t *context, uint64_t mask)
{
	memcpy(&context->uc_sigmask, &mask, sizeof(mask));
}

void adsm_mask_found(ucontext_t *context)
{
	if (hides())
		set_context_mask(context, make_ready(adsm_mask_bits(&context->uc_sigmask)));
}

uint64_t adsm_mask_of(const ucontext_t *context, bool sent)
{
	/* The mask in the context is the one that is restored after the call. */
	if (sent && mine.call.frame - adsm_decode_stack(context) < CALL_DEPTH)
		return mine.call.mask;
	return adsm_mask_bits(&context->uc_sigmask);
}

void adsm_mask_call_handler(const struct sigaction *action, int sig, siginfo_t *info, ucontext_t *context,
			    uint64_t mask)
{
	const bool defer = !(action->sa_flags & SA_NODEFER) || sigismember(&action->sa_mask, sig);
	const uint64_t added = adsm_mask_bits(&action->sa_mask) | (defer ? SIGNAL_BIT(sig) : 0);
	const uint64_t stand_in = have_stand_in() ? *stand_in_here() : 0;
	uint64_t after = adsm_mask_bits(&context->uc_sigmask);

	if (!hides()) {
		adsm_mask_set(mask | added);
		action->sa_sigaction(sig, info, context);
		return;
	}
	/* The handler sees the program's mask in its context, and may change it there. */
	set_context_mask(context, adsm_mask_to_program(after));
	mask = adsm_mask_to_program(mask) | added;
	if (mask & STAND_IN)
		note_stand_in(mask);
	/* The handler may touch objects. */
	adsm_mask_set(adsm_mask_to_kernel(mask));
	action->sa_sigaction(sig, info, context);
	if (have_stand_in())
		*stand_in_here() = stand_in;
	after = adsm_mask_to_kernel(adsm_mask_bits(&context->uc_sigmask));
	set_context_mask(context, after);
	if (!(after & STAND_IN))
		queue_pending();
}

bool adsm_mask_is_blocked(uint64_t mask)
{
	/* While the library has all signals blocked, the program's mask is unknown. */
	return hides() && mask & STAND_IN && !adsm_os_signals_are_blocked(mask);
}
