/* SPDX-License-Identifier: MIT */
/*
 * engine/sigsegv.h - SIGSEGV, shared with the application: what it believes of its action and of its masks. All of it
 * may run in signal handlers.
 */
#ifndef ADSM_SIGSEGV_H
#define ADSM_SIGSEGV_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of stack that the handler needs, whatever is observed; 1.4 KiB were measured, 1.8 in a debug build. */
#define ADSM_SIGSEGV_STACK ((size_t)2048)
/* And to tell why an access fails. The kernel's own frame, AT_MINSIGSTKSZ bytes, is not in either. */
#define ADSM_SIGSEGV_STACK_TOLD ((size_t)4096)

/* Serve a fault as the engine's handler would. False: it is not the library's. */
bool adsm_sigsegv_handle(int sig, siginfo_t *info, void *context);

/* The C library's own, where the process calls a wrapper by this name. */
int adsm_engine_sigaction(int sig, const struct sigaction *action, struct sigaction *old);

/*
 * sigaction(SIGSEGV), neither pointer's memory shared; 0 or a negative errno. Once the engine has started it is
 * about the action that foreign faults are forwarded to.
 */
int adsm_sigsegv_action(const struct sigaction *action, struct sigaction *ret_old);
/* In a new process: at its start, and in the child of a fork. */
void adsm_sigsegv_in_process(void);

/* What a thread believes of SIGSEGV's bit in its mask. */
struct adsm_sigsegv_mask {
	bool blocked;
	bool bounded;		/* only for what is called by the function with this frame */
	bool queued;		/* see adsm_sigsegv_enter() */
	uintptr_t frame;
	uint64_t others;	/* unbounded: the kernel's mask then; without some of it, another has been restored */
	uintptr_t stack;	/* the lowest address of the alternate stack it is on; else 0 */
};

bool adsm_sigsegv_blocked(void);
/* Change that; once unblocked, signals that were sent meanwhile come. */
void adsm_sigsegv_block(bool blocked);
/* Around a system call that has a mask of its own; @ret_old lies on the stack of whoever makes the call. */
void adsm_sigsegv_enter(bool blocked, struct adsm_sigsegv_mask *ret_old);
void adsm_sigsegv_leave(const struct adsm_sigsegv_mask *old);
/*
 * This thread leaves all functions whose frames lie below @stack, by longjmp: handlers among them have ended. Does that
 * restore a mask?
 */
void adsm_sigsegv_jump(uintptr_t stack, bool restores_mask);

#endif
