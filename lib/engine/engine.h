/* SPDX-License-Identifier: MIT */
/*
 * engine.h - fault engines: the only place that knows how a view is opened and closed and how an access
 * to a closed page reaches the library.
 */
#ifndef ADSM_ENGINE_H
#define ADSM_ENGINE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the handler made of a fault. */
enum adsm_fault_result {
	ADSM_FAULT_SERVED,	/* run the instruction again */
	ADSM_FAULT_FOREIGN,	/* not ours: to whoever had the signal before */
	ADSM_FAULT_WAIT,	/* wait first, with adsm_fault.wait, under the interrupted mask; then ask again */
	ADSM_FAULT_LOST,	/* ours and cannot be served: SIGBUS at this address (already logged) */
};

struct adsm_fault {
	uintptr_t address;
	uintptr_t instruction;
	/* Here is what its function returns to, if that is one without a frame; else anything may be. Who has not seen
	 * that it is ordinary code on an ordinary stack must not look. */
	const uintptr_t *caller;
	bool write;
	/* There is no stack to serve it, so only whose it is is asked: FOREIGN, or LOST, and nothing is logged. */
	bool cramped;
	/* Set with ADSM_FAULT_WAIT; run with no lock held and the interrupted code's signal mask. It may be
	 * left by siglongjmp(), so it keeps no state. */
	void (*wait)(const struct adsm_fault *fault);
	void *wait_device;
	uint64_t wait_seq;
};

/* fault.c's side; signals are blocked, all that the kernel lets. */
typedef enum adsm_fault_result adsm_fault_handler(struct adsm_fault *fault);

struct adsm_engine {
	const char *name;
	/* Take the signals; the dispositions found are what foreign faults are forwarded to. */
	int (*start)(adsm_fault_handler *handler);
	/* Give them back, if they are still ours. */
	void (*stop)(void);
	/* Change what the view of a run of pages permits. -ENOMEM: the process has no mappings left; nothing
	 * changed. All may run in the fault handler. */
	int (*open_ro)(void *view, size_t size);	/* was closed; its data is in place */
	int (*open_rw)(void *view, size_t size);	/* was closed */
	int (*upgrade)(void *view, size_t size);	/* was readable, becomes writable */
	int (*protect)(void *view, size_t size);	/* was writable, becomes readable */
	int (*close)(void *view, size_t size);		/* whatever it was, becomes inaccessible */
};

extern const struct adsm_engine adsm_engine_sigsegv;

/* Bytes of stack that the handler needs, whatever is observed; 1.4 KiB were measured, 1.8 in a debug build. */
#define ADSM_SIGSEGV_STACK ((size_t)2048)
/* And to tell why an access fails. What the kernel puts there first, AT_MINSIGSTKSZ bytes, is not in either. */
#define ADSM_SIGSEGV_STACK_TOLD ((size_t)4096)

/* ---- SIGSEGV, shared with the application. All of it may run in signal handlers. */

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
/* Change it; then what was sent while it was blocked comes. */
void adsm_sigsegv_block(bool blocked);
/* Around a system call that has a mask of its own; @ret_old lies on the stack of whoever makes the call. */
void adsm_sigsegv_enter(bool blocked, struct adsm_sigsegv_mask *ret_old);
void adsm_sigsegv_leave(const struct adsm_sigsegv_mask *old);
/*
 * This thread leaves all functions whose frames lie below @stack, by longjmp: handlers among them have ended. Does that
 * restore a mask?
 */
void adsm_sigsegv_jump(uintptr_t stack, bool restores_mask);

/* What a page fault's ucontext_t tells. False: no data access, or none the processor describes. */
bool adsm_decode_fault(const void *ucontext, uintptr_t *ret_instruction, bool *ret_write);
/* The same from aarch64's exception syndrome register, on every processor. */
bool adsm_decode_esr(uint64_t esr, bool *ret_write);

#endif
