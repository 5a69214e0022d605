/* SPDX-License-Identifier: MIT */
/* base/decode.h - what the ucontext_t of a signal tells. May run in its handler. */
#ifndef ADSM_DECODE_H
#define ADSM_DECODE_H

#include <stdbool.h>
#include <stdint.h>

/* Of a page fault. False: no data access, or none the processor describes. */
bool adsm_decode_fault(const void *ucontext, uintptr_t *ret_instruction, bool *ret_write);
/* The same from aarch64's exception syndrome register, on every processor. */
bool adsm_decode_esr(uint64_t esr, bool *ret_write);
/* Of an instruction of aarch64 that loads or stores, on every processor. False: it does neither, or is not known. */
bool adsm_decode_a64(uint32_t word, bool *ret_write);
/* A number made of all general registers. Faults of one instruction with the same one are of the same try. */
uint64_t adsm_decode_registers(const void *ucontext);
/* The stack pointer. */
uintptr_t adsm_decode_stack(const void *ucontext);
/*
 * Where the return address is at the start of a function, and all through one that keeps nothing on the stack, as
 * memcpy() does.
 */
const uintptr_t *adsm_decode_caller(const void *ucontext);

#endif
