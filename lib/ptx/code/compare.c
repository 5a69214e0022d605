/* SPDX-License-Identifier: MIT */
/* compare.c - comparisons and selections: setp, set, selp, slct. */
#include "list.h"

#include <string.h>

/* x and y stand for the operands. Without a text the comparison does not exist for these types. */
static const struct comparison {
	const char *name, *integers, *numbers;
	bool is_unsigned;		/* it is for unsigned integers only */
} comparisons[] = {
	{ "eq", "x == y", "x == y", false },
	{ "ne", "x != y", "(x < y) | (x > y)", false },
	{ "lt", "x < y", "x < y", false },
	{ "le", "x <= y", "x <= y", false },
	{ "gt", "x > y", "x > y", false },
	{ "ge", "x >= y", "x >= y", false },
	{ "lo", "x < y", NULL, true },
	{ "ls", "x <= y", NULL, true },
	{ "hi", "x > y", NULL, true },
	{ "hs", "x >= y", NULL, true },
	/* The same of numbers, and true if one is a NaN. */
	{ "equ", NULL, "!((x < y) | (x > y))", false },
	{ "neu", NULL, "x != y", false },
	{ "ltu", NULL, "!(x >= y)", false },
	{ "leu", NULL, "!(x > y)", false },
	{ "gtu", NULL, "!(x <= y)", false },
	{ "geu", NULL, "!(x < y)", false },
	{ "num", NULL, "(x == x) & (y == y)", false },
	{ "nan", NULL, "(x != x) | (y != y)", false },
};

static bool is_pair(enum adsm_ptx_type type)
{
	return type == ADSM_PTX_f16x2 || type == ADSM_PTX_bf16x2;
}

static bool is_number(enum adsm_ptx_type type)
{
	return adsm_ptx_is_float(type) || is_pair(type) || type == ADSM_PTX_f16 || type == ADSM_PTX_bf16;
}

static bool has_order(enum adsm_ptx_type type)
{
	return type != ADSM_PTX_b16 && type != ADSM_PTX_b32 && type != ADSM_PTX_b64;
}

static const struct comparison *find(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const enum adsm_ptx_type type = adsm_ptx_type_of(instruction);
	char name[128];

	adsm_ptx_full_name(instruction, name, sizeof(name));
	for (size_t i = 0; i < sizeof(comparisons) / sizeof(*comparisons); i++) {
		const struct comparison *comparison = &comparisons[i];

		if (!adsm_ptx_has(instruction, comparison->name))
			continue;
		if (!(is_number(type) ? comparison->numbers : comparison->integers) ||
		    (comparison->is_unsigned && adsm_ptx_is_signed(type)) || (!has_order(type) && i > 1))
			adsm_ptx_refuse(writer, "%s: values of type %s cannot be compared by %s", name,
					adsm_ptx_type_name(type), comparison->name);
		return comparison;
	}
	adsm_ptx_refuse(writer,
			"%s has no comparison: one of eq, ne, lt, le, gt, ge, lo, ls, hi, hs, equ, neu, ltu, leu, "
			"gtu, geu, num, nan", name);
}

/* Append the comparison. Of pairs, @half says which numbers are compared. */
static void print_comparison(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction,
			     const struct comparison *comparison, uint32_t half)
{
	const enum adsm_ptx_type type = adsm_ptx_type_of(instruction);

	for (const char *c = is_number(type) ? comparison->numbers : comparison->integers; *c; c++) {
		if (*c != 'x' && *c != 'y') {
			adsm_ptx_print(writer, "%c", *c);
		} else if (is_pair(type)) {
			adsm_ptx_print(writer, "ptx_f32_of_%s((uint16_t)(",
				       type == ADSM_PTX_f16x2 ? "f16" : "bf16");
			adsm_ptx_expression(writer, instruction, *c == 'x' ? "$1" : "$2");
			adsm_ptx_print(writer, " >> %u))", 16 * half);
		} else {
			adsm_ptx_expression(writer, instruction, *c == 'x' ? "$1h" : "$2h");
		}
	}
}

/* The C operator that combines the comparison with operand 3; NULL: there is none. */
static const char *combination(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const char *name = adsm_ptx_one_of(instruction, "and|or|xor");

	if ((name != NULL) != (instruction->n == 4))
		adsm_ptx_refuse(writer, name ? "%s.%s needs a predicate after the operands" :
				"%s%s has too many or too few operands", instruction->opcode, name ? name : "");
	return !name ? NULL : !strcmp(name, "and") ? "&" : !strcmp(name, "or") ? "|" : "^";
}

/* Two destinations: of a comparison and its complement, or of the two numbers of a pair. */
static void write_setp_two(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction,
			   const struct comparison *comparison, const char *combine)
{
	const struct adsm_ptx_operand *to = instruction->operands[0].elements;
	const bool pair = is_pair(adsm_ptx_type_of(instruction));

	adsm_ptx_print(writer, "{ const uint8_t first = (");
	print_comparison(writer, instruction, comparison, 0);
	adsm_ptx_print(writer, "), second = (");
	if (pair)
		print_comparison(writer, instruction, comparison, 1);
	else
		adsm_ptx_print(writer, "!first");
	adsm_ptx_print(writer, "), with = ");
	adsm_ptx_expression(writer, instruction, combine ? "$3p" : "0");
	adsm_ptx_print(writer, "; (void)with; ");
	for (int i = 0; i < 2; i++) {
		adsm_ptx_begin(writer, &to[i], ADSM_PTX_pred);
		adsm_ptx_print(writer, combine ? "%s %s with" : "%s", i ? "second" : "first", combine);
		adsm_ptx_end(writer, &to[i], ADSM_PTX_pred);
		adsm_ptx_print(writer, " ");
	}
	adsm_ptx_print(writer, "}");
}

static void write_setp(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const struct comparison *comparison = find(writer, instruction);
	const char *combine = combination(writer, instruction);
	const struct adsm_ptx_operand *to = &instruction->operands[0];

	if (to->kind == ADSM_PTX_OP_PAIR) {
		write_setp_two(writer, instruction, comparison, combine);
		return;
	}
	if (is_pair(adsm_ptx_type_of(instruction)))
		adsm_ptx_refuse(writer, "setp with %s needs two predicates, p|q",
				adsm_ptx_type_name(adsm_ptx_type_of(instruction)));
	adsm_ptx_begin(writer, to, ADSM_PTX_pred);
	adsm_ptx_print(writer, combine ? "(" : "");
	print_comparison(writer, instruction, comparison, 0);
	if (combine) {
		adsm_ptx_print(writer, ") %s ", combine);
		adsm_ptx_expression(writer, instruction, "$3p");
	}
	adsm_ptx_end(writer, to, ADSM_PTX_pred);
}

/* What set gives for true. */
static uint32_t truth(enum adsm_ptx_type type)
{
	return type == ADSM_PTX_f32 ? 0x3f800000 : type == ADSM_PTX_f16 || type == ADSM_PTX_f16x2 ? 0x3c00 :
	       type == ADSM_PTX_bf16 || type == ADSM_PTX_bf16x2 ? 0x3f80 :
	       type == ADSM_PTX_u16 || type == ADSM_PTX_s16 ? 0xffff : 0xffffffff;
}

static void write_set(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const struct comparison *comparison = find(writer, instruction);
	const char *combine = combination(writer, instruction);
	const enum adsm_ptx_type result = adsm_ptx_unsigned(adsm_ptx_size(instruction->types[0]));
	const uint32_t n = is_pair(adsm_ptx_type_of(instruction)) ? 2 : 1;

	adsm_ptx_begin(writer, &instruction->operands[0], result);
	for (uint32_t i = 0; i < n; i++) {
		adsm_ptx_print(writer, i ? " | ((" : "((");
		print_comparison(writer, instruction, comparison, i);
		adsm_ptx_print(writer, ")");
		if (combine) {
			adsm_ptx_print(writer, " %s ", combine);
			adsm_ptx_expression(writer, instruction, "$3p");
		}
		adsm_ptx_print(writer, " ? 0x%xu << %u : 0u)", truth(instruction->types[0]), 16 * i);
	}
	adsm_ptx_end(writer, &instruction->operands[0], result);
}

#define COMPARE "eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan ?and|or|xor"
#define INTEGERS "b16 b32 b64 u16 u32 u64 s16 s32 s64"
#define EACH(t) t ".b16 " t ".b32 " t ".b64 " t ".u16 " t ".u32 " t ".u64 " t ".s16 " t ".s32 " t ".s64 " t ".f64"
#define BY(c) "b16." c " b32." c " b64." c " u16." c " u32." c " u64." c " s16." c " s32." c " s64." c \
	" f32." c " f64." c

const struct adsm_ptx_form adsm_ptx_compare_forms[] = {
	{ "setp", COMPARE, INTEGERS " f64 bf16 bf16x2", 0, NULL, write_setp },
	{ "setp", COMPARE " ?ftz", "f32 f16 f16x2", 0, NULL, write_setp },
	{ "set", COMPARE, EACH("u32") " " EACH("s32") " " EACH("f32"), 0, NULL, write_set },
	{ "set", COMPARE " ?ftz", "u32.f32 s32.f32 f32.f32 u16.f16 s16.f16 u32.f16 s32.f16 f16.f16 f16x2.f16x2",
	  0, NULL, write_set },
	{ "set", COMPARE, "u16.bf16 s16.bf16 u32.bf16 s32.bf16 bf16.bf16 bf16x2.bf16x2", 0, NULL, write_set },
	{ "selp", "", INTEGERS " f32 f64", 0, "$3p ? $1 : $2", NULL },
	{ "slct", "", BY("s32"), 'X', "$3 >= 0 ? $1X : $2X", NULL },
	{ "slct", "?ftz", BY("f32"), 'X', "$3 >= 0.0f ? $1X : $2X", NULL },
	{ NULL, NULL, NULL, 0, NULL, NULL },
};
