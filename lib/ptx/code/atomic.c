/* SPDX-License-Identifier: MIT */
/* atomic.c - atom and red. */
#include "list.h"

#define OPERATIONS "add|min|max|and|or|xor|exch|cas|inc|dec"

/* All threads of a block run in one thread of the process: nothing else accesses shared memory meanwhile. */
static const char *order_of(const struct adsm_ptx_instruction *instruction)
{
	return instruction->space == ADSM_PTX_SHARED ? "PTX_ALONE" :
	       adsm_ptx_has(instruction, "acquire") ? "__ATOMIC_ACQUIRE" :
	       adsm_ptx_has(instruction, "release") ? "__ATOMIC_RELEASE" :
	       adsm_ptx_has(instruction, "acq_rel") ? "__ATOMIC_ACQ_REL" : "__ATOMIC_RELAXED";
}

/* The operation as a call of ptx_atom_<operation>_<type>(address, value, order), or (address, old, value, order). */
static void print_call(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction,
		       const struct adsm_ptx_operand *operands)
{
	const enum adsm_ptx_type type = adsm_ptx_type_of(instruction);
	const uint32_t n = adsm_ptx_has(instruction, "cas") ? 3 : 2;
	const uint32_t given = (uint32_t)(instruction->operands + instruction->n - operands);

	if (given != n + adsm_ptx_has(instruction, "L2::cache_hint"))
		adsm_ptx_refuse(writer, "%s needs an address and %u operands after it", instruction->opcode, n - 1);
	adsm_ptx_print(writer, "ptx_atom_%s_%s(", adsm_ptx_one_of(instruction, OPERATIONS), adsm_ptx_type_name(type));
	adsm_ptx_address(writer, &operands[0], instruction->space);
	for (uint32_t i = 1; i < n; i++) {
		adsm_ptx_print(writer, ", ");
		adsm_ptx_read(writer, &operands[i], type);
	}
	adsm_ptx_print(writer, ", %s)", order_of(instruction));
}

static void write_atom(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const enum adsm_ptx_type type = adsm_ptx_type_of(instruction);

	if (instruction->n < 1)
		adsm_ptx_refuse(writer, "atom has operands");
	adsm_ptx_begin(writer, &instruction->operands[0], type);
	print_call(writer, instruction, &instruction->operands[1]);
	adsm_ptx_end(writer, &instruction->operands[0], type);
}

static void write_red(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	adsm_ptx_print(writer, "(void)");
	print_call(writer, instruction, instruction->operands);
	adsm_ptx_print(writer, ";");
}

#define WHERE "?relaxed|acquire|release|acq_rel ?cta|gpu|sys ?global|shared ?L2::cache_hint "

const struct adsm_ptx_form adsm_ptx_atomic_forms[] = {
	{ "atom", WHERE "add", "u32 s32 u64 f32 f64", 0, NULL, write_atom },
	{ "atom", WHERE "add noftz", "f16 f16x2 bf16 bf16x2", 0, NULL, write_atom },
	{ "atom", WHERE "min|max", "u32 s32 u64 s64", 0, NULL, write_atom },
	{ "atom", WHERE "and|or|xor|exch", "b32 b64", 0, NULL, write_atom },
	{ "atom", WHERE "inc|dec", "u32", 0, NULL, write_atom },
	{ "atom", WHERE "cas", "b16 b32 b64", 0, NULL, write_atom },
	{ "red", WHERE "add", "u32 s32 u64 f32 f64", 0, NULL, write_red },
	{ "red", WHERE "add noftz", "f16 f16x2 bf16 bf16x2", 0, NULL, write_red },
	{ "red", WHERE "min|max", "u32 s32 u64 s64", 0, NULL, write_red },
	{ "red", WHERE "and|or|xor", "b32 b64", 0, NULL, write_red },
	{ "red", WHERE "inc|dec", "u32", 0, NULL, write_red },
	{ NULL, NULL, NULL, 0, NULL, NULL },
};
