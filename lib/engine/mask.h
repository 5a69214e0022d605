/* SPDX-License-Identifier: MIT */
/*
 * engine/mask.h - SIGSEGV in the masks of the program's threads. All of it may run in signal handlers.
 *
 * A thread that has SIGSEGV blocked cannot touch an object: the kernel would end the process. So if the program uses
 * the library and calls the wrappers, masks hide SIGSEGV: the kernel's mask of a thread never contains it. If the
 * program blocks SIGSEGV, the kernel's mask contains SIGSTKFLT instead, which Linux never sends. All that saves and
 * restores masks keeps that bit too: the return from a handler, siglongjmp(), setcontext(), a new thread. If the
 * program blocks SIGSTKFLT itself, only the thread that did it knows this.
 */
#pragma once

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

extern atomic_bool adsm_mask_hidden;		/* masks hide SIGSEGV */
/* Masks hide SIGSEGV from now on: this thread's mask immediately, those of others at their next call. @first: this is
 * the only thread. */
void adsm_mask_hide(bool first);
/* Call this at the process's start, and in the child of fork(). */
void adsm_mask_in_process(void);
/* Is this a child of vfork(), or another process with the memory of the one that the library was loaded in? */
bool adsm_mask_is_vforked(void);

/* Converts a mask of the program to the mask that the kernel gets. */
static inline uint64_t adsm_mask_to_kernel(uint64_t mask)
{
	const uint64_t segv = UINT64_C(1) << (SIGSEGV - 1), stand_in = UINT64_C(1) << (SIGSTKFLT - 1);

	return (mask & ~(segv | stand_in)) | (mask & segv ? stand_in : 0);
}

/* The reverse, for this thread's mask. This and the functions below are only for when masks hide SIGSEGV. */
uint64_t adsm_mask_to_program(uint64_t mask);
/* Make this thread's mask hide SIGSEGV. A thread that makes another one calls this first, as the new thread inherits
 * the mask. */
void adsm_mask_thread(void);
/* The program has changed its mask. A SIGSEGV that was sent while it was blocked is delivered if it is unblocked
 * now. */
void adsm_mask_changed(int how, uint64_t mask);
/* Enter and leave a system call that has its own mask, here as the program gave it. The function that makes the call
 * calls both. */
struct adsm_mask_call {
	uintptr_t frame;	/* the call's stack pointer is just below this; 0: no call */
	uint64_t mask;		/* the mask, as the kernel gets it */
	bool queued;
};
void adsm_mask_enter(uint64_t mask, struct adsm_mask_call *ret_outer);
void adsm_mask_leave(const struct adsm_mask_call *outer);
/* This thread jumps: calls with frames below @stack have ended. */
void adsm_mask_jump(uintptr_t stack);
/* Before and after a call that starts another program, which must get the program's mask. The second one takes the
 * result of the first. */
uint64_t adsm_mask_expose(void);
void adsm_mask_unexpose(uint64_t mask);

/* ---- for the engine, whether or not masks hide SIGSEGV */

/* The kernel stores only this much of a sigset_t in a context. */
static inline uint64_t adsm_mask_bits(const sigset_t *set)
{
	uint64_t bits;

	memcpy(&bits, set, sizeof(bits));
	return bits;
}

/* Set this thread's mask in the kernel; remove SIGSEGV from it. errno is kept. */
void adsm_mask_set(uint64_t mask);
void adsm_mask_unblock(void);
/* Send this thread a signal that is delivered when it returns from its handler, if the mask that the return restores
 * permits it. */
void adsm_signal_to_self(int sig, const siginfo_t *info);
/* A signal has interrupted a thread whose mask may not hide SIGSEGV yet: correct its mask in @context. */
void adsm_mask_found(ucontext_t *context);
/*
 * The kernel's mask under which a signal was delivered. This is the interrupted code's mask, or, if the signal was
 * @sent by a process during a system call with its own mask, that call's mask.
 */
uint64_t adsm_mask_of(const ucontext_t *context, bool sent);
/* Does this mask mean that the program blocks SIGSEGV? Then adsm_mask_keep() keeps a SIGSEGV that was sent until the
 * program unblocks it. */
bool adsm_mask_is_blocked(uint64_t mask);
void adsm_mask_keep(const siginfo_t *info);
/* Call the program's handler like the kernel. @mask: from adsm_mask_of(). The handler always gets three arguments, as
 * on Linux; there SA_SIGINFO only decides whether *info is filled in. */
void adsm_mask_call_handler(const struct sigaction *action, int sig, siginfo_t *info, ucontext_t *context,
			    uint64_t mask);
