/* SPDX-License-Identifier: MIT */
/* adsmcc_machine.c - instructions of x86-64 and aarch64 with relocations. */
#include "adsmcc_link.h"

#include <elf.h>
#include <string.h>

/* ---- x86-64: a reference is a distance of 32 bits, from its own end */

#define X86_LEA 0x8d
#define X86_MOV 0x8b

static enum reference_kind x86_reference(const struct object_section *section,
					 const struct object_relocation *relocation, int64_t *ret_offset)
{
	const uint8_t *p = section->bytes + relocation->offset;
	const uint64_t before = relocation->offset;

	*ret_offset = relocation->addend + 4;
	switch (relocation->type) {
	case R_X86_64_PLT32:
		return REFERENCE_BRANCH;
	case R_X86_64_GOTPCREL:
	case R_X86_64_GOTPCRELX:
	case R_X86_64_REX_GOTPCRELX:
		*ret_offset = 0;
		return REFERENCE_POINTER;
	case R_X86_64_PC32:
		/* The distance is behind the opcode of call, jmp or jcc, or behind a ModRM byte for %rip. */
		if (before >= 1 && (p[-1] == 0xe8 || p[-1] == 0xe9))
			return REFERENCE_BRANCH;
		if (before >= 2 && p[-2] == 0x0f && (p[-1] & 0xf0) == 0x80)
			return REFERENCE_BRANCH;
		/* A section may begin with an instruction that has no prefix. */
		if (before >= 2 && (p[-1] & 0xc7) == 0x05)
			return before >= 3 && p[-2] == X86_LEA && (p[-3] & 0xf8) == 0x48 ? REFERENCE_ADDRESS :
				REFERENCE_BYTES;
		return REFERENCE_UNKNOWN;
	default:
		return REFERENCE_UNKNOWN;
	}
}

static bool x86_complete(const struct object_relocation *relocation, enum reference_kind kind, uint8_t *code,
			 int64_t at, int64_t target)
{
	uint8_t *p = code + relocation->offset;
	const int64_t distance = target - (at + (int64_t)relocation->offset + 4);
	const int32_t bits = (int32_t)distance;

	if (kind == REFERENCE_ADDRESS)
		p[-2] = X86_MOV;
	memcpy(p, &bits, 4);
	return bits == distance;
}

/* Write jmp *slot(%rip) to @code. */
static void x86_jump(uint8_t *code, int64_t at, int64_t slot)
{
	const int32_t distance = (int32_t)(slot - (at + 6));

	code[0] = 0xff;
	code[1] = 0x25;
	memcpy(code + 2, &distance, 4);
}

/* ---- aarch64: instructions have 32 bits, and distances are in words */

static enum reference_kind arm_reference(const struct object_relocation *relocation, int64_t *ret_offset)
{
	*ret_offset = relocation->addend;
	switch (relocation->type) {
	case R_AARCH64_CALL26:
	case R_AARCH64_JUMP26:
		return REFERENCE_BRANCH;
	case R_AARCH64_GOT_LD_PREL19:
		return REFERENCE_POINTER;
	case R_AARCH64_ADR_PREL_LO21:
		return REFERENCE_ADDRESS;
	case R_AARCH64_LD_PREL_LO19:
		return REFERENCE_BYTES;
	default:
		return REFERENCE_UNKNOWN;
	}
}

/* Write the instruction @word to @code, with a distance in the @n bits from @shift on. False: it is too far. */
static bool arm_put(uint8_t *code, uint32_t word, int64_t distance, unsigned n, unsigned shift)
{
	const uint32_t mask = (1u << n) - 1;

	word = (word & ~(mask << shift)) | ((uint32_t)(distance >> 2) & mask) << shift;
	memcpy(code, &word, 4);
	return !(distance & 3) && distance >> (n + 1) == distance >> 63;
}

static bool arm_complete(const struct object_relocation *relocation, enum reference_kind kind, uint8_t *code,
			 int64_t at, int64_t target)
{
	uint8_t *p = code + relocation->offset;
	const int64_t distance = target - (at + (int64_t)relocation->offset);
	uint32_t word;

	memcpy(&word, p, 4);
	if (kind == REFERENCE_BRANCH)
		return arm_put(p, word, distance, 26, 0);
	if (kind == REFERENCE_ADDRESS)
		word = 0x58000000 | (word & 31);	/* adr becomes ldr, of the same register */
	return arm_put(p, word, distance, 19, 5);
}

/* ---- for both machines */

enum reference_kind machine_reference(uint32_t machine, const struct object_section *section,
				      const struct object_relocation *relocation, int64_t *ret_offset)
{
	return machine == EM_X86_64 ? x86_reference(section, relocation, ret_offset) :
		arm_reference(relocation, ret_offset);
}

bool machine_complete(uint32_t machine, const struct object_relocation *relocation, enum reference_kind kind,
		      uint8_t *code, int64_t at, int64_t target)
{
	return machine == EM_X86_64 ? x86_complete(relocation, kind, code, at, target) :
		arm_complete(relocation, kind, code, at, target);
}

void machine_slot_stub(uint32_t machine, uint8_t *code, int64_t at, int64_t slot)
{
	static const uint32_t jump[4] = { 0x58000010, 0xd61f0200, 0, 0 };	/* ldr x16, slot; br x16 */

	if (machine == EM_X86_64) {
		memset(code, 0xcc, MACHINE_STUB);
		x86_jump(code, at, slot);
		return;
	}
	memcpy(code, jump, sizeof(jump));
	arm_put(code, jump[0], slot - at, 19, 5);
}

void machine_call_stub(uint32_t machine, uint8_t *code, int64_t at, int64_t slot, uint32_t symbol)
{
	/* ldr w17, symbol; ldr x16, slot; br x16 */
	const uint32_t call[4] = { 0x18000071, 0x58000010, 0xd61f0200, symbol };

	if (machine == EM_X86_64) {
		memset(code, 0xcc, MACHINE_STUB);
		code[0] = 0x68;		/* push $symbol */
		memcpy(code + 1, &symbol, 4);
		x86_jump(code + 5, at + 5, slot);
		return;
	}
	memcpy(code, call, sizeof(call));
	arm_put(code + 4, call[1], slot - (at + 4), 19, 5);
}
