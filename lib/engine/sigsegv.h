/* SPDX-License-Identifier: MIT */
/* engine/sigsegv.h - SIGSEGV, which the library shares with the application: the action that the application believes
 * to have set. All of it may run in signal handlers. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of stack that the handler needs, with any observer. Measured: 1.4 KiB, in a debug build 1.8 KiB. */
#define ADSM_SIGSEGV_STACK ((size_t)2048)
/* The same, to also log why an access fails. Neither includes the kernel's own frame of AT_MINSIGSTKSZ bytes. */
#define ADSM_SIGSEGV_STACK_TOLD ((size_t)4096)

/* Serve a fault like the engine's handler. False: it is not the library's. */
bool adsm_sigsegv_handle(int sig, siginfo_t *info, void *context);

/* sigaction() of the C library, even if the process calls a wrapper by that name. */
int adsm_engine_sigaction(int sig, const struct sigaction *action, struct sigaction *old);

/* sigaction(SIGSEGV); neither pointer leads to shared memory. Returns 0 or a negative errno. Once the engine has
 * started, this gets and sets the action that foreign faults are forwarded to. */
int adsm_sigsegv_action(const struct sigaction *action, struct sigaction *ret_old);
/* Call this in each new process: at its start, and in the child of a fork. */
void adsm_sigsegv_in_process(void);

/* Does the process call the wrappers? The first call then prepares the masks of handlers. */
bool adsm_engine_sees_masks(void);
