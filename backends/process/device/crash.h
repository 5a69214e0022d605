/* SPDX-License-Identifier: MIT */
/* crash.h - records for the application how a kernel crashed, or which signal ended the device process. */
#pragma once

#include "adsm_kernel.h"
#include "process/shared.h"

/* A thread sets this while it runs blocks. */
extern _Thread_local bool adsm_crash_in_kernel;
/* The number of the launch that the thread runs; 0: not known. */
extern _Thread_local uint64_t adsm_crash_launch;
/* The block that the thread runs; NULL: not known. */
extern _Thread_local const struct adsm_kernel_block *adsm_crash_block;
/* The instruction that crashed; 0: not known. Handlers of other faults set it, too. */
extern _Thread_local uintptr_t adsm_crash_instruction;
/*
 * Describes where in a kernel the calling thread crashed: " in worker 3". Called in a signal handler. NULL: no
 * description.
 */
extern void (*adsm_crash_place)(char *ret_text, size_t size);
/*
 * Returns what a crash of a kernel means, a text that follows signal and address; NULL: nothing to add.
 * @access: "a load", "a store" or "an access". Called in the signal handler, in the thread that crashed.
 */
extern const char *(*adsm_crash_explain)(int signal, uint64_t address, const char *access);
/* Called first when a load or store faults. True: it has opened the memory, and the instruction runs again. */
extern bool (*adsm_crash_opener)(uintptr_t address);
/* Returns index + 1 of the module that contains an instruction, and the address in its file; 0: no module. */
extern uint32_t (*adsm_crash_locate)(uintptr_t instruction, uint64_t *ret_offset);

/* Catch all signals that would end this process and can be caught. */
void adsm_crash_start(void);
/* From now on write a crash to @note. The signal handler calls @written after that, unless it is NULL. */
void adsm_crash_note(struct adsm_process_crash *note, void (*written)(void));
/* Note the block that the calling thread runs, and where adsm_crash_instruction is. [signal] */
void adsm_crash_where(struct adsm_process_crash *note);
/* Returns only in the first thread that crashes, which then ends the process; other threads wait for that. [signal] */
void adsm_crash_alone(void);
/* After adsm_crash_alone(): another process of the device has crashed, and its record is copied to the note. */
void adsm_crash_take(const struct adsm_process_crash *other);
/* The calling thread runs a kernel that did something forbidden: end as if it had crashed at @address. */
void adsm_crash_now(int signal, uint64_t address, const char *why) __attribute__((noreturn));
/* The kernel reports an error after which it cannot continue, "block (0, 0, 0), thread (1, 0, 0): …": end with it. */
void adsm_crash_say(const char *text) __attribute__((noreturn));
/* Give the calling thread a stack for the signal handler, because its own stack may have overflowed. */
void adsm_crash_thread(void);
/* The calling thread ends: free that stack. */
void adsm_crash_thread_end(void);
