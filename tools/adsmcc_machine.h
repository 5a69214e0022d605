/* SPDX-License-Identifier: MIT */
/* adsmcc_machine.h - instructions of x86-64 and aarch64 that refer to something, as the linker of images sees them. */
#ifndef ADSMCC_MACHINE_H
#define ADSMCC_MACHINE_H

#include "adsmcc_object.h"

enum reference_kind {
	REFERENCE_UNKNOWN,
	REFERENCE_BRANCH,		/* calls it, or jumps to it */
	REFERENCE_ADDRESS,		/* takes its address, which is not where the code lies just now */
	REFERENCE_POINTER,		/* loads its address from memory */
	REFERENCE_BYTES,		/* loads its bytes */
};

/* @ret_offset: of what is referred to, from the symbol. */
enum reference_kind machine_reference(uint32_t machine, const struct object_section *section,
				      const struct object_relocation *relocation, int64_t *ret_offset);
/*
 * Complete the instruction of @relocation in @code, a copy of its section that lies at @at: it refers to what is at
 * @target. One that takes an address loads it from there instead. False: that is too far.
 */
bool machine_complete(uint32_t machine, const struct object_relocation *relocation, enum reference_kind kind,
		      uint8_t *code, int64_t at, int64_t target);

#define MACHINE_STUB 16			/* bytes of these */

/* Jump to what the slot at @slot has; both as seen from where the code lies, at @at. */
void machine_slot_stub(uint32_t machine, uint8_t *code, int64_t at, int64_t slot);
/* The same, with a symbol for the partition manager. */
void machine_call_stub(uint32_t machine, uint8_t *code, int64_t at, int64_t slot, uint32_t symbol);

#endif
