/* SPDX-License-Identifier: MIT */
/* base/decode.h - reads the ucontext_t of a signal. May run in its handler. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Decode a page fault. False: it is not an access to data, or the processor does not describe it. */
bool adsm_decode_fault(const void *ucontext, uintptr_t *ret_instruction, bool *ret_write);
/* The same from the exception syndrome register of aarch64; compiled for all processors. */
bool adsm_decode_esr(uint64_t esr, bool *ret_write);
/* Decode an instruction of aarch64 that loads or stores; compiled for all processors. False: it does neither, or is not
 * known. */
bool adsm_decode_a64(uint32_t word, bool *ret_write);
/* A hash of all general registers. Faults of one instruction with the same hash belong to the same execution of it. */
uint64_t adsm_decode_registers(const void *ucontext);
/* The stack pointer. */
uintptr_t adsm_decode_stack(const void *ucontext);
/* Where the return address is at the start of a function. It stays there in a function that keeps nothing on the stack,
 * such as memcpy(). */
const uintptr_t *adsm_decode_caller(const void *ucontext);
