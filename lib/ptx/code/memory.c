/* SPDX-License-Identifier: MIT */
/* memory.c - loads, stores, copies and fences. */
#include "list.h"

#include <string.h>

static _Noreturn void refuse(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction,
			     const char *reason)
{
	char name[128];

	adsm_ptx_full_name(instruction, name, sizeof(name));
	adsm_ptx_refuse(writer, "%s %s", name, reason);
}

/* The order of an access, as C's builtins have it; NULL: it is an ordinary one. ld.cv loads again each time. */
static const char *order_of(const struct adsm_ptx_instruction *instruction)
{
	return adsm_ptx_has(instruction, "acquire") ? "__ATOMIC_ACQUIRE" :
	       adsm_ptx_has(instruction, "release") ? "__ATOMIC_RELEASE" :
	       adsm_ptx_one_of(instruction, "volatile|relaxed|cv") ? "__ATOMIC_RELAXED" : NULL;
}

/* The number of elements that are loaded or stored. */
static uint32_t check_access(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction,
			     const struct adsm_ptx_operand *values)
{
	const uint32_t n = values->kind == ADSM_PTX_OP_VECTOR ? values->n : 1;

	if (n != instruction->vector)
		refuse(writer, instruction, "has another number of registers than its v2 or v4 says");
	if (n * adsm_ptx_size(adsm_ptx_type_of(instruction)) > 16)
		refuse(writer, instruction, "is not supported: an access has at most 16 bytes");
	return n;
}

static void print_load(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction,
		       const char *order)
{
	const enum adsm_ptx_type type = adsm_ptx_type_of(instruction);
	const uint32_t size = adsm_ptx_size(type);

	if (!order)
		adsm_ptx_print(writer, "*(const %s *)(", adsm_ptx_c_type(type));
	else if (adsm_ptx_is_float(type))
		adsm_ptx_print(writer, "ptx_f%u(__atomic_load_n((const uint%u_t *)(", 8 * size, 8 * size);
	else
		adsm_ptx_print(writer, "((%s)__atomic_load_n((const uint%u_t *)(", adsm_ptx_c_type(type), 8 * size);
}

static void end_load(struct adsm_ptx_writer *writer, const char *order)
{
	if (order)
		adsm_ptx_print(writer, "), %s))", order);
	else
		adsm_ptx_print(writer, ")");
}

static void write_ld(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const struct adsm_ptx_operand *to = &instruction->operands[0];
	const enum adsm_ptx_type type = adsm_ptx_type_of(instruction);
	const char *order = order_of(instruction);
	uint32_t n;

	if (instruction->n < 2)
		refuse(writer, instruction, "has a register and an address");
	n = check_access(writer, instruction, to);
	if (n == 1 && to->kind != ADSM_PTX_OP_VECTOR) {
		adsm_ptx_begin(writer, to, type);
		print_load(writer, instruction, order);
		adsm_ptx_address(writer, &instruction->operands[1], instruction->space);
		end_load(writer, order);
		adsm_ptx_end(writer, to, type);
		return;
	}
	/* All elements are loaded before a register changes: the address may be in one of them. */
	adsm_ptx_print(writer, "{ const char *const p = ");
	adsm_ptx_address(writer, &instruction->operands[1], instruction->space);
	for (uint32_t i = 0; i < n; i++) {
		adsm_ptx_print(writer, "; const %s v%u = ", adsm_ptx_c_type(type), i);
		print_load(writer, instruction, order);
		adsm_ptx_print(writer, "p + %u", i * adsm_ptx_size(type));
		end_load(writer, order);
	}
	adsm_ptx_print(writer, "; ");
	for (uint32_t i = 0; i < n; i++) {
		adsm_ptx_begin(writer, &to->elements[i], type);
		adsm_ptx_print(writer, "v%u", i);
		adsm_ptx_end(writer, &to->elements[i], type);
		adsm_ptx_print(writer, " ");
	}
	adsm_ptx_print(writer, "}");
}

static void print_store(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction,
			const struct adsm_ptx_operand *value, const char *order)
{
	const enum adsm_ptx_type type = adsm_ptx_type_of(instruction);
	const enum adsm_ptx_type stored = order ? adsm_ptx_unsigned(adsm_ptx_size(type)) : type;

	adsm_ptx_print(writer, order ? ", " : " = ");
	adsm_ptx_read(writer, value, stored);
	if (order)
		adsm_ptx_print(writer, ", %s)", order);
	adsm_ptx_print(writer, ";");
}

static void write_st(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const enum adsm_ptx_type type = adsm_ptx_type_of(instruction);
	const char *order = order_of(instruction);
	const struct adsm_ptx_operand *from = &instruction->operands[1];
	const char *start = order ? "__atomic_store_n((" : "*(";
	const enum adsm_ptx_type stored = order ? adsm_ptx_unsigned(adsm_ptx_size(type)) : type;
	uint32_t n;

	if (instruction->n < 2)
		refuse(writer, instruction, "has an address and a register");
	n = check_access(writer, instruction, from);
	if (n == 1 && from->kind != ADSM_PTX_OP_VECTOR) {
		adsm_ptx_print(writer, "%s%s *)", start, adsm_ptx_c_type(stored));
		adsm_ptx_address(writer, &instruction->operands[0], instruction->space);
		print_store(writer, instruction, from, order);
		return;
	}
	adsm_ptx_print(writer, "{ char *const p = ");
	adsm_ptx_address(writer, &instruction->operands[0], instruction->space);
	adsm_ptx_print(writer, ";");
	for (uint32_t i = 0; i < n; i++) {
		adsm_ptx_print(writer, " %s%s *)(p + %u)", start, adsm_ptx_c_type(stored), i * adsm_ptx_size(type));
		print_store(writer, instruction, &from->elements[i], order);
	}
	adsm_ptx_print(writer, " }");
}

/* What only concerns caches, and waits for copies that are complete. */
static void write_nothing(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	adsm_ptx_print(writer, "/* %s */", instruction->opcode);
}

/* cp.async [to], [from], size, size of the source, cache policy. After the source what is written is 0. */
static void write_copy(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const struct adsm_ptx_operand *operands = instruction->operands;
	const uint32_t n = instruction->n - adsm_ptx_has(instruction, "L2::cache_hint");
	uint64_t size;

	if (instruction->n < 3 || n < 3 || n > 4 || operands[2].kind != ADSM_PTX_OP_INTEGER ||
	    (operands[2].bits != 4 && operands[2].bits != 8 && operands[2].bits != 16))
		refuse(writer, instruction, "needs two addresses and a size, which is 4, 8 or 16");
	size = operands[2].bits;
	adsm_ptx_print(writer, "ptx_copy_async(");
	adsm_ptx_address(writer, &operands[0], ADSM_PTX_SHARED);
	adsm_ptx_print(writer, ", ");
	adsm_ptx_address(writer, &operands[1], ADSM_PTX_GLOBAL);
	adsm_ptx_print(writer, ", %uu, ", (uint32_t)size);
	if (n == 4)
		adsm_ptx_read(writer, &operands[3], ADSM_PTX_u32);
	else
		adsm_ptx_print(writer, "%uu", (uint32_t)size);
	adsm_ptx_print(writer, ");");
}

/* All threads of a block run in one thread of the process: among them only the compiler could change the order. */
static void write_fence(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	adsm_ptx_print(writer, "__atomic_%s_fence(__ATOMIC_SEQ_CST);",
		       adsm_ptx_has(instruction, "cta") ? "signal" : "thread");
}

/* bar.arrive does not wait, so it is a statement. What PTX_ARRIVE() is depends on the function (frame.c, body.c). */
static void write_arrive(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	if (instruction->n != 2)
		adsm_ptx_refuse(writer, "%s needs the index of a barrier and its number of threads",
				instruction->opcode);
	adsm_ptx_print(writer, "PTX_ARRIVE(");
	adsm_ptx_read(writer, &instruction->operands[0], ADSM_PTX_u32);
	adsm_ptx_print(writer, ", ");
	adsm_ptx_read(writer, &instruction->operands[1], ADSM_PTX_u32);
	adsm_ptx_print(writer, ");");
}

#define TYPES "b8 u8 s8 b16 u16 s16 b32 u32 s32 b64 u64 s64 f32 f64"

const struct adsm_ptx_form adsm_ptx_memory_forms[] = {
	{ "ld", "?weak ?global|shared|local|const|param ?ca|cg|cs|lu|cv ?v2|v4 ~", TYPES, 0, NULL, write_ld },
	{ "ld", "volatile ?global|shared|local ?v2|v4 ~", TYPES, 0, NULL, write_ld },
	{ "ld", "relaxed|acquire cta|gpu|sys ?global|shared ?v2|v4 ~", TYPES, 0, NULL, write_ld },
	{ "ld", "global ?ca|cg|cs nc ?v2|v4 ~", TYPES, 0, NULL, write_ld },
	{ "ldu", "?global ?v2|v4", TYPES, 0, NULL, write_ld },
	{ "st", "?weak ?global|shared|local|param ?wb|cg|cs|wt ?v2|v4 ~", TYPES, 0, NULL, write_st },
	{ "st", "volatile ?global|shared|local ?v2|v4 ~", TYPES, 0, NULL, write_st },
	{ "st", "relaxed|release cta|gpu|sys ?global|shared ?v2|v4 ~", TYPES, 0, NULL, write_st },
	{ "cp", "async ca|cg shared global ~", "", 0, NULL, write_copy },
	{ "cp", "async commit_group|wait_group|wait_all", "", 0, NULL, write_nothing },
	{ "prefetch", "?global|local L1|L2", "", 0, NULL, write_nothing },
	{ "prefetch", "global L2::evict_last|L2::evict_normal", "", 0, NULL, write_nothing },
	{ "prefetchu", "L1", "", 0, NULL, write_nothing },
	{ "applypriority", "?global L2::evict_normal", "", 0, NULL, write_nothing },
	{ "discard", "?global L2", "", 0, NULL, write_nothing },
	{ "createpolicy", "fractional ~", "b64", 'u', "0", NULL },
	{ "createpolicy", "range ?global ~", "b64", 'u', "0", NULL },
	{ "createpolicy", "cvt L2", "b64", 'u', "0", NULL },
	{ "bar", "?cta arrive", "", 0, NULL, write_arrive },
	{ "barrier", "?cta arrive ?aligned", "", 0, NULL, write_arrive },
	{ "membar", "cta|gl|sys", "", 0, NULL, write_fence },
	{ "fence", "?sc|acq_rel|acquire|release cta|gpu|sys", "", 0, NULL, write_fence },
	{ NULL, NULL, NULL, 0, NULL, NULL },
};
