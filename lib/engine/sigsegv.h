/* SPDX-License-Identifier: MIT */
/* engine/sigsegv.h - SIGSEGV, shared with the application: what it believes of its action. It may run in handlers. */
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

/* Does the process call the wrappers? What they are about is made ready then, once: masks of handlers. */
bool adsm_engine_sees_masks(void);

#endif
