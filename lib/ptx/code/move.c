/* SPDX-License-Identifier: MIT */
/* move.c - mov, with packing and unpacking, addresses of spaces, and instructions that compute nothing. */
#include "list.h"

/* The type of the elements of a vector that is as wide as a type; refuses if there is none. */
static enum adsm_ptx_type element_type(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction,
				       const struct adsm_ptx_operand *vector)
{
	const uint32_t size = adsm_ptx_size(adsm_ptx_type_of(instruction));

	if (vector->n < 2 || size % vector->n || instruction->vector > 1)
		adsm_ptx_refuse(writer, "mov.%s packs or unpacks two or four elements of one size",
				adsm_ptx_type_name(adsm_ptx_type_of(instruction)));
	return adsm_ptx_unsigned(size / vector->n);
}

static void unpack(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const struct adsm_ptx_operand *to = &instruction->operands[0];
	const enum adsm_ptx_type element = element_type(writer, instruction, to);

	adsm_ptx_expression(writer, instruction, "{ const $U x = $1u; ");
	for (uint32_t i = 0; i < to->n; i++) {
		if (to->elements[i].kind == ADSM_PTX_OP_SINK)
			continue;
		adsm_ptx_begin(writer, &to->elements[i], element);
		adsm_ptx_print(writer, "(%s)(x >> %u)", adsm_ptx_c_type(element), i * 8 * adsm_ptx_size(element));
		adsm_ptx_end(writer, &to->elements[i], element);
		adsm_ptx_print(writer, " ");
	}
	adsm_ptx_print(writer, "}");
}

static void pack(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const struct adsm_ptx_operand *from = &instruction->operands[1];
	const enum adsm_ptx_type element = element_type(writer, instruction, from);
	const enum adsm_ptx_type bits = adsm_ptx_letter_type(writer, instruction, 'u');

	adsm_ptx_begin(writer, &instruction->operands[0], bits);
	for (uint32_t i = 0; i < from->n; i++) {
		adsm_ptx_expression(writer, instruction, i ? " | ($U)" : "($U)");
		adsm_ptx_read(writer, &from->elements[i], element);
		adsm_ptx_print(writer, " << %u", i * 8 * adsm_ptx_size(element));
	}
	adsm_ptx_end(writer, &instruction->operands[0], bits);
}

static void write_mov(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	if (instruction->n != 2)
		adsm_ptx_refuse(writer, "mov has two operands");
	if (instruction->operands[0].kind == ADSM_PTX_OP_VECTOR)
		unpack(writer, instruction);
	else if (instruction->operands[1].kind == ADSM_PTX_OP_VECTOR)
		pack(writer, instruction);
	else
		adsm_ptx_assign(writer, instruction, 0, "$1");
}

/* Generic addresses are those of the process. Only shared addresses are others. */
static void write_cvta(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	if (instruction->space != ADSM_PTX_SHARED) {
		adsm_ptx_assign(writer, instruction, 0, "$1");
		return;
	}
	writer->uses_shared = true;
	adsm_ptx_assign(writer, instruction, 0, adsm_ptx_has(instruction, "to") ? "$1 - (uint64_t)(uintptr_t)sh" :
			"$1 + (uint64_t)(uintptr_t)sh");
}

static void write_isspacep(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const bool is_shared = adsm_ptx_has(instruction, "shared");

	writer->uses_shared = true;
	adsm_ptx_begin(writer, &instruction->operands[0], ADSM_PTX_pred);
	adsm_ptx_read(writer, &instruction->operands[1], ADSM_PTX_u64);
	adsm_ptx_print(writer, " - (uint64_t)(uintptr_t)sh %s k->shared_size", is_shared ? "<" : ">=");
	adsm_ptx_end(writer, &instruction->operands[0], ADSM_PTX_pred);
}

static void write_nothing(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	adsm_ptx_print(writer, "/* %s */", instruction->opcode);
}

static void write_trap(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	adsm_ptx_print(writer, "k->trap(k, t, ");
	adsm_ptx_print_place(writer, instruction);
	adsm_ptx_print(writer, ");");
}

#define SPACES "global|shared|local|const|param"

const struct adsm_ptx_form adsm_ptx_move_forms[] = {
	{ "mov", "", "pred b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64 f16 bf16 f16x2 bf16x2", 0, NULL, write_mov },
	{ "cvta", SPACES, "u64", 0, NULL, write_cvta },
	{ "cvta", "to " SPACES, "u64", 0, NULL, write_cvta },
	{ "isspacep", "global|shared", "", 0, NULL, write_isspacep },
	{ "nanosleep", "", "u32", 0, NULL, write_nothing },
	{ "pmevent", "?mask", "", 0, NULL, write_nothing },
	{ "brkpt", "", "", 0, NULL, write_nothing },
	{ "trap", "", "", 0, NULL, write_trap },
	{ NULL, NULL, NULL, 0, NULL, NULL },
};
