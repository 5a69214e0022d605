/* SPDX-License-Identifier: MIT */
/* crash.h - how a kernel crashed, or who ends the device process: written down for the application. */
#ifndef ADSM_PROCESS_CRASH_H
#define ADSM_PROCESS_CRASH_H

#include "process/shared.h"

/* Set by a thread that runs blocks, while it does. */
extern _Thread_local bool adsm_crash_in_kernel;
/* Says where in a kernel the calling thread crashed, " in worker 3": for a handler of signals. NULL: nothing to say. */
extern void (*adsm_crash_place)(char *ret_text, size_t size);

/* Catch all signals that can be caught and would end this process. */
void adsm_crash_start(void);
/* Where to write how it ended, from now on. @written: called then, in the signal handler; NULL: nothing more to do. */
void adsm_crash_note(struct adsm_process_crash *note, void (*written)(void));
/* Returns to the first thread that crashes, which will end the process; others wait for that. Signal handlers, too. */
void adsm_crash_alone(void);
/* Behind that: another process of the device has crashed, what it wrote becomes the note. */
void adsm_crash_take(const struct adsm_process_crash *other);
/*
 * What a crash of a kernel by a signal at an address means, in words to follow both; NULL: no more than that.
 * @access: "a load", "a store", "an access". Called in the handler, in the thread that crashed.
 */
void adsm_crash_explain(const char *(*explain)(int signal, uint64_t address, const char *access));
/* Asked first of a load or store that faults: true: it has opened the memory, and the instruction runs again. */
void adsm_crash_opener(bool (*open)(uintptr_t address));
/* Which module's code an instruction is of, from 1 on, and its address in the module's file. 0: none's. */
void adsm_crash_locate(uint32_t (*locate)(uintptr_t instruction, uint64_t *ret_offset));
/* A kernel that runs in this thread did what it must not: as if it had crashed at @address. Does not return. */
void adsm_crash_now(int signal, uint64_t address, const char *why) __attribute__((noreturn));
/* Give the calling thread a stack for the handler: its own may have run out. */
void adsm_crash_thread(void);

#endif
