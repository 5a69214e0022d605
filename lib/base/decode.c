/* SPDX-License-Identifier: MIT */
/* base/decode.c - decodes what a processor says of a fault. */
#include "base/decode.h"

#include <signal.h>
#include <string.h>
#include <ucontext.h>

bool adsm_decode_esr(uint64_t esr, bool *ret_write)
{
	/* Exception class 0x24: data abort from user code. Cache maintenance (bit 8) only claims to write. */
	if ((esr >> 26 & 0x3f) != 0x24)
		return false;
	*ret_write = (esr & 1 << 6) && !(esr & 1 << 8);
	return true;
}

static bool bits(uint32_t word, int first, int n, uint32_t value)
{
	return (word >> first & ((1u << n) - 1)) == value;
}

/* Does a load or store of one register write memory? */
static bool writes_register(uint32_t word)
{
	if (bits(word, 26, 1, 1))	/* of a vector register */
		return bits(word, 22, 1, 0);
	/* Atomic operations; LDAPR and LD64B, which are among them, read. */
	if (bits(word, 24, 1, 0) && bits(word, 21, 1, 1) && bits(word, 10, 2, 0))
		return !bits(word, 12, 4, 12) && !bits(word, 12, 4, 13);
	if (bits(word, 24, 1, 0) && bits(word, 21, 1, 1) && bits(word, 10, 1, 1))	/* with a signed pointer */
		return false;
	return bits(word, 22, 2, 0);
}

bool adsm_decode_a64(uint32_t word, bool *ret_write)
{
	if ((word & ~0x1fu) == 0xd50b7420) {	/* DC ZVA */
		*ret_write = true;
		return true;
	}
	if (!bits(word, 27, 1, 1) || !bits(word, 25, 1, 0))
		return false;
	switch (word >> 28 & 3) {
	case 0:		/* exclusive, ordered, compare and swap; structures of vectors */
		*ret_write = bits(word, 22, 1, 0) || (bits(word, 24, 3, 0) && bits(word, 21, 1, 1) &&
						      (bits(word, 23, 1, 1) || bits(word, 31, 1, 0)));
		return true;
	case 1:		/* relative to the program counter; ordered with an offset. Not copies, and not tags */
		*ret_write = bits(word, 24, 1, 1) && writes_register(word);
		return bits(word, 24, 1, 0) || (bits(word, 21, 1, 0) && bits(word, 10, 1, 0));
	case 2:		/* pairs */
		*ret_write = bits(word, 22, 1, 0);
		return true;
	default:
		*ret_write = writes_register(word);
		return true;
	}
}

bool adsm_decode_fault(const void *ucontext, uintptr_t *ret_instruction, bool *ret_write)
{
	const mcontext_t *m = &((const ucontext_t *)ucontext)->uc_mcontext;
#if defined(__x86_64__)
	/* A page fault. Its error code: bit 1: a write; bit 4: an instruction fetch. */
	if (m->gregs[REG_TRAPNO] != 14 || m->gregs[REG_ERR] & 1 << 4)
		return false;
	*ret_instruction = (uintptr_t)m->gregs[REG_RIP];
	*ret_write = m->gregs[REG_ERR] & 1 << 1;
	return true;
#elif defined(__aarch64__)
	/* Records of {magic, size}, ended by one of zeros; in the one for the fault the register follows. */
	const unsigned char *p = m->__reserved, *end = p + sizeof(m->__reserved);

	*ret_instruction = (uintptr_t)m->pc;
	while (end - p >= 16) {
		uint32_t head[2];
		uint64_t esr;

		memcpy(head, p, sizeof(head));
		if (head[0] == ESR_MAGIC) {
			memcpy(&esr, p + sizeof(head), sizeof(esr));
			return adsm_decode_esr(esr, ret_write);
		}
		if (!head[0] || head[1] < sizeof(head) || head[1] > (size_t)(end - p))
			break;
		p += head[1];
	}
	/* Linux always provides this record. An emulator may not: QEMU does since version 8.2. */
	uint32_t word;

	if (m->fault_address - m->pc < sizeof(word))
		return false;
	memcpy(&word, (const void *)(uintptr_t)m->pc, sizeof(word));
	return adsm_decode_a64(word, ret_write);
#else
#error "the fault context of this processor is not known here"
#endif
}

uint64_t adsm_decode_registers(const void *ucontext)
{
	const mcontext_t *m = &((const ucontext_t *)ucontext)->uc_mcontext;
#if defined(__x86_64__)
	const unsigned long long *registers = (const unsigned long long *)m->gregs;
	const int n = REG_RIP + 1;	/* without the flags: one of them says that there was a fault */
#else
	const unsigned long long *registers = m->regs;
	const int n = 31;
#endif
	uint64_t all = 0;

	for (int i = 0; i < n; i++)
		all = (all ^ registers[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return all;
}

uintptr_t adsm_decode_stack(const void *ucontext)
{
#if defined(__x86_64__)
	return (uintptr_t)((const ucontext_t *)ucontext)->uc_mcontext.gregs[REG_RSP];
#else
	return (uintptr_t)((const ucontext_t *)ucontext)->uc_mcontext.sp;
#endif
}

const uintptr_t *adsm_decode_caller(const void *ucontext)
{
#if defined(__x86_64__)
	return (const uintptr_t *)adsm_decode_stack(ucontext);
#else
	return (const uintptr_t *)&((const ucontext_t *)ucontext)->uc_mcontext.regs[30];
#endif
}
