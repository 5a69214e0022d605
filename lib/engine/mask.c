/* SPDX-License-Identifier: MIT */
/* engine/mask.c - SIGSEGV in the masks of the program's threads. */
#include "engine/mask.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/decode.h"
#include "base/log.h"
#include "base/os.h"
#include "base/syscall.h"

#define SEGV SIGNAL_BIT(SIGSEGV)
#define STAND_IN SIGNAL_BIT(SIGSTKFLT)
/* The last two are the C library's. */
#define NEVER_BLOCKED (SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP) | SIGNAL_BIT(32) | SIGNAL_BIT(33))
#define CALL_DEPTH ((uintptr_t)1024)	/* bytes of stack for such a call; no handler's frame is so small */

atomic_bool adsm_mask_hidden;
/* The masks of all threads are as mask.h says: they have been since there was one thread. */
static bool all_are_ready;
/*
 * Threads that had SIGSTKFLT blocked when the library started, and not SIGSEGV. In the first mask that is seen of any
 * other thread it stands for SIGSEGV, which the thread has inherited from its maker.
 */
#define MAX_OWN 256
static int own[MAX_OWN];
static size_t n_own;
static atomic_bool own_known;				/* false: it may be any thread */
static atomic_int process;				/* whose memory this is; in the child of vfork(), the parent */
static _Thread_local struct {
	uint64_t stand_in;				/* see believes() */
	struct adsm_mask_call call;			/* the system call that it is in, if any */
	int ready_in;					/* in this process its mask is as mask.h says; 0: not yet */
	bool has_pending;				/* a SIGSEGV was sent while it was blocked */
	int pending_of;					/* the process that it was sent to */
	siginfo_t pending;
} mine;

void adsm_mask_set(uint64_t bits)
{
	const int saved_errno = errno;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &bits, NULL, KERNEL_SIGSET_SIZE);
	errno = saved_errno;
}

/* To this thread, on its return from the handler: the mask that return restores lets it through. */
void adsm_signal_to_self(int sig, const siginfo_t *info)
{
	const int saved_errno = errno;
	uint64_t bit = SIGNAL_BIT(sig);

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &bit, NULL, KERNEL_SIGSET_SIZE);
	/* Where a filter forbids that, the signal alone is better than to fault for ever. */
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

/* The program blocks these. Where SIGSTKFLT is among them, that is noted with the others. */
static void note_stand_in(uint64_t mask)
{
	mine.stand_in = mask & STAND_IN ? mask & ~(SEGV | NEVER_BLOCKED) : 0;
}

/*
 * Does the program believe to have SIGSTKFLT itself blocked? With that it can only read what it wrote, so it may be
 * inexact: where some of what was blocked with it is not blocked any more, another mask has been restored.
 */
static bool believes(uint64_t mask)
{
	return mine.stand_in && !(mine.stand_in & ~(mask | STAND_IN));
}

/* Has the thread inherited this mask from one whose mask was as mask.h says? */
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

/* A mask from before this thread's were as they are now. SIGSTKFLT alone says nothing of SIGSEGV there. */
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
	/* While the library has blocked all signals, this is not the program's. */
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

/* What came while it was blocked comes again, as soon as the kernel's mask, in which it now is, lets it through. */
static bool queue_pending(void)
{
	const siginfo_t info = mine.pending;

	/* In the child of vfork() this is the parent's memory. */
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

/* Threads are made by adsm_mask_thread()'s callers meanwhile: so their masks are as mask.h says. */
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

	adsm_mask_thread();
	if (first)
		all_are_ready = true;
	else if (!again)
		find_own();
}

void adsm_mask_changed(int how, uint64_t mask)
{
	if (how == SIG_UNBLOCK)
		mine.stand_in &= mask & STAND_IN ? 0 : ~mask;
	else if (how == SIG_SETMASK || mask & STAND_IN)
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
	/* The context has the mask that comes after the call. */
	if (sent && mine.call.frame - adsm_decode_stack(context) < CALL_DEPTH)
		return mine.call.mask;
	return adsm_mask_bits(&context->uc_sigmask);
}

void adsm_mask_call_handler(const struct sigaction *action, int sig, siginfo_t *info, ucontext_t *context,
			    uint64_t mask)
{
	const bool defer = !(action->sa_flags & SA_NODEFER) || sigismember(&action->sa_mask, sig);
	const uint64_t added = adsm_mask_bits(&action->sa_mask) | (defer ? SIGNAL_BIT(sig) : 0);
	const uint64_t stand_in = mine.stand_in;
	uint64_t after = adsm_mask_bits(&context->uc_sigmask);

	if (!hides()) {
		adsm_mask_set(mask | added);
		action->sa_sigaction(sig, info, context);
		return;
	}
	/* What it finds in its context, and what it leaves there, is the program's mask. */
	set_context_mask(context, adsm_mask_to_program(after));
	mask = adsm_mask_to_program(mask) | added;
	if (mask & STAND_IN)
		note_stand_in(mask);
	/* It may touch objects. */
	adsm_mask_set(adsm_mask_to_kernel(mask));
	action->sa_sigaction(sig, info, context);
	mine.stand_in = stand_in;
	after = adsm_mask_to_kernel(adsm_mask_bits(&context->uc_sigmask));
	set_context_mask(context, after);
	if (!(after & STAND_IN))
		queue_pending();
}

bool adsm_mask_is_blocked(uint64_t mask)
{
	/* While the library has blocked all signals, nobody knows what the program had. */
	return hides() && mask & STAND_IN && !adsm_os_signals_are_blocked(mask);
}
