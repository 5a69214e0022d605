/* SPDX-License-Identifier: MIT */
/*
 * engine/mask.h - SIGSEGV in the masks of the program's threads. All of it may run in signal handlers.
 *
 * A thread that has SIGSEGV blocked cannot touch an object: the kernel would end the process. So once the
 * program uses the library, and calls the wrappers, the kernel's masks never have SIGSEGV. Where the program has it
 * blocked, they have SIGSTKFLT in its place, which Linux never sends. Whatever keeps a mask and restores it, keeps
 * that bit, too: the return from a handler, siglongjmp(), setcontext(), a new thread. That a program has SIGSTKFLT
 * itself blocked is only known of the thread that has done it.
 */
#ifndef ADSM_MASK_H
#define ADSM_MASK_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

extern atomic_bool adsm_mask_hidden;		/* masks are so */
/* They are so from now on: in this thread at once, in others at their next call. @first: there are no others. */
void adsm_mask_hide(bool first);
/* At the process's start, and in the child of fork(). */
void adsm_mask_in_process(void);

/* A mask of the program's, as the kernel has it. */
static inline uint64_t adsm_mask_to_kernel(uint64_t mask)
{
	const uint64_t segv = UINT64_C(1) << (SIGSEGV - 1), stand_in = UINT64_C(1) << (SIGSTKFLT - 1);

	return (mask & ~(segv | stand_in)) | (mask & segv ? stand_in : 0);
}

/* The other way, for this thread's mask. What is below is, too, only for when masks are so. */
uint64_t adsm_mask_to_program(uint64_t mask);
/* This thread's mask is as it has to be, from now on. Before it makes a thread, which inherits it, too. */
void adsm_mask_thread(void);
/* The program has changed its mask: signals that were sent while it was blocked may come. */
void adsm_mask_changed(int how, uint64_t mask);
/* Around a system call with this mask of the program's, in the function that makes it. */
struct adsm_mask_call {
	uintptr_t frame;	/* the call's stack is just below; 0: none */
	uint64_t mask;		/* as the kernel has it */
	bool queued;
};
void adsm_mask_enter(uint64_t mask, struct adsm_mask_call *ret_outer);
void adsm_mask_leave(const struct adsm_mask_call *outer);
/* Around what starts another program, which gets the program's mask. Returned is what the second one needs. */
uint64_t adsm_mask_expose(void);
void adsm_mask_unexpose(uint64_t mask);

/* ---- for the engine, whether masks are so or not */

/* The kernel stores only this much of a sigset_t in a context. */
static inline uint64_t adsm_mask_bits(const sigset_t *set)
{
	uint64_t bits;

	memcpy(&bits, set, sizeof(bits));
	return bits;
}

/* The kernel's mask of this thread; SIGSEGV out of it. errno is kept. */
void adsm_mask_set(uint64_t mask);
void adsm_mask_unblock(void);
/* A signal for this thread, on its return from a handler: the mask that return restores lets it through. */
void adsm_signal_to_self(int sig, const siginfo_t *info);
/* A thread was interrupted that has not called any of these: its mask is made as it has to be. */
void adsm_mask_found(ucontext_t *context);
/*
 * The kernel's mask under which a signal has come: the interrupted code's, but in a system call that has a mask of its
 * own the call's; only what was @sent can come there.
 */
uint64_t adsm_mask_of(const ucontext_t *context, bool sent);
/* Would Linux not have delivered SIGSEGV under that? Then one that was sent is kept until it would. */
bool adsm_mask_is_blocked(uint64_t mask);
void adsm_mask_keep(const siginfo_t *info);
/*
 * Call the program's handler as the kernel would; @mask, from adsm_mask_of(). It has all three arguments, as on Linux,
 * which asks for SA_SIGINFO only before it fills in *info.
 */
void adsm_mask_call_handler(const struct sigaction *action, int sig, siginfo_t *info, ucontext_t *context,
			    uint64_t mask);

#endif
