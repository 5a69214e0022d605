/* SPDX-License-Identifier: MIT */
/* adsmcc_machine.h - instructions of x86-64 and aarch64 with relocations, for the linker of images. */
#ifndef ADSMCC_MACHINE_H
#define ADSMCC_MACHINE_H

#include "adsmcc_object.h"

enum reference_kind {
	REFERENCE_UNKNOWN,
	REFERENCE_BRANCH,		/* calls the target, or jumps to it */
	REFERENCE_ADDRESS,		/* takes the target's address; not valid as it is, because loaded code moves */
	REFERENCE_POINTER,		/* loads the target's address from memory */
	REFERENCE_BYTES,		/* loads the target's bytes */
};

/* What the instruction of a relocation does with its target. @ret_offset: of the target, from the symbol. */
enum reference_kind machine_reference(uint32_t machine, const struct object_section *section,
				      const struct object_relocation *relocation, int64_t *ret_offset);
/*
 * Complete the instruction of @relocation in @code, a copy of its section that lies at @at. It then refers to @target.
 * For REFERENCE_ADDRESS it is changed into a load of the address from @target. False: @target is too far away.
 */
bool machine_complete(uint32_t machine, const struct object_relocation *relocation, enum reference_kind kind,
		      uint8_t *code, int64_t at, int64_t target);

#define MACHINE_STUB 16			/* bytes of a stub */

/* Write a stub to @code that jumps to the address in a slot. @at, @slot: the places of the stub and the slot. */
void machine_slot_stub(uint32_t machine, uint8_t *code, int64_t at, int64_t slot);
/* The same, but it also passes @symbol to the partition manager. */
void machine_call_stub(uint32_t machine, uint8_t *code, int64_t at, int64_t slot, uint32_t symbol);

#endif
