/* SPDX-License-Identifier: MIT */
/* convert.c - cvt and cvt.pack. */
#include "list.h"

#include <inttypes.h>
#include <string.h>

static bool is_half(enum adsm_ptx_type type)
{
	return type == ADSM_PTX_f16 || type == ADSM_PTX_bf16;
}

static bool is_number(enum adsm_ptx_type type)
{
	return adsm_ptx_is_float(type) || is_half(type);
}

static _Noreturn void refuse(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction,
			     const char *reason)
{
	char name[128];

	adsm_ptx_full_name(instruction, name, sizeof(name));
	adsm_ptx_refuse(writer, "%s %s", name, reason);
}

static uint64_t greatest(enum adsm_ptx_type type)
{
	const uint32_t bits = 8 * adsm_ptx_size(type);

	return UINT64_MAX >> (64 - bits + adsm_ptx_is_signed(type));
}

/*
 * Append @value limited to the range of a type. The value is a variable of type @from. Each limit that is needed is a
 * number of type @from.
 */
static void print_limited(struct adsm_ptx_writer *writer, enum adsm_ptx_type to, enum adsm_ptx_type from,
			  const char *value)
{
	const bool wide = adsm_ptx_size(from) == 8;
	const char *suffix = adsm_ptx_is_signed(from) ? wide ? "ll" : "" : wide ? "ull" : "u";

	adsm_ptx_print(writer, "(%s)(", adsm_ptx_c_type(to));
	if (adsm_ptx_is_signed(from) && (!adsm_ptx_is_signed(to) || greatest(to) < greatest(from)))
		adsm_ptx_print(writer, "%s < -%" PRIu64 "%s - %d ? -%" PRIu64 "%s - %d : ", value,
			       adsm_ptx_is_signed(to) ? greatest(to) : 0, suffix, adsm_ptx_is_signed(to),
			       adsm_ptx_is_signed(to) ? greatest(to) : 0, suffix, adsm_ptx_is_signed(to));
	if (greatest(to) < greatest(from))
		adsm_ptx_print(writer, "%s > %" PRIu64 "%s ? %" PRIu64 "%s : ", value, greatest(to), suffix,
			       greatest(to), suffix);
	adsm_ptx_print(writer, "%s)", value);
}

static void write_integer(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const enum adsm_ptx_type to = instruction->types[0], from = instruction->types[1];

	if (adsm_ptx_one_of(instruction, "rn|rz|rm|rp|rni|rzi|rmi|rpi|rna|relu|ftz"))
		refuse(writer, instruction, "is not supported: integers are not rounded");
	if (!adsm_ptx_has(instruction, "sat")) {
		adsm_ptx_assign(writer, instruction, 'x', "$1");
		return;
	}
	adsm_ptx_print(writer, "{ const %s x = ", adsm_ptx_c_type(from));
	adsm_ptx_read(writer, &instruction->operands[1], from);
	adsm_ptx_print(writer, "; ");
	adsm_ptx_begin(writer, &instruction->operands[0], to);
	print_limited(writer, to, from, "x");
	adsm_ptx_end(writer, &instruction->operands[0], to);
	adsm_ptx_print(writer, " }");
}

/* Append a call's name and parenthesis, and count it. */
static void open_call(struct adsm_ptx_writer *writer, int *n_open, const char *format, const char *a, const char *b,
		      const char *c)
{
	adsm_ptx_print(writer, "%s%s%s%s(", format, a, b, c);
	(*n_open)++;
}

/* From a number of C type float or double, or an integer, to a number. */
static void open_to_number(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction, int *n_open)
{
	const enum adsm_ptx_type to = instruction->types[0], from = instruction->types[1];
	const char *name = adsm_ptx_type_name(to), *rounding = adsm_ptx_one_of(instruction, "rn|rz|rm|rp");
	const bool narrows = is_half(to) ? from != to : to == ADSM_PTX_f32 ? from == ADSM_PTX_f64 : false;

	if (narrows || !is_number(from)) {
		if (!rounding)
			refuse(writer, instruction, "needs a rounding: one of rn, rz, rm, rp");
	} else if (rounding) {
		refuse(writer, instruction, "is exact, and has no rounding");
	}
	if (is_half(to) && !is_number(from)) {
		if (to == ADSM_PTX_bf16)
			refuse(writer, instruction, "is not supported: convert to f32 first");
		open_call(writer, n_open, "ptx_f16_", rounding, "(ptx_odd", "");
		(*n_open)++;
	} else if (is_half(to)) {
		open_call(writer, n_open, "ptx_", name, "_", rounding ? rounding : "rn");
		if (from == ADSM_PTX_f64)
			open_call(writer, n_open, "ptx_odd", "", "", "");
	} else if (!is_number(from) && strcmp(rounding, "rn") != 0) {
		open_call(writer, n_open, to == ADSM_PTX_f32 ? "ptx_f32_" : "ptx_f64_", rounding, "_of_",
			  adsm_ptx_type_name(from));
	} else if (narrows && strcmp(rounding, "rn") != 0) {
		open_call(writer, n_open, "ptx_f32_", rounding, "_of_f64", "");
	} else {
		open_call(writer, n_open, to == ADSM_PTX_f32 ? "(float)" : "(double)", "", "", "");
	}
}

/* The rounding of a number to an integer, which is a number still. */
static void open_whole(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction, int *n_open)
{
	const enum adsm_ptx_type to = instruction->types[0], from = instruction->types[1];
	const char *whole = adsm_ptx_one_of(instruction, "rni|rzi|rmi|rpi");

	if (!is_number(from) || (is_number(to) && to != from)) {
		if (whole)
			refuse(writer, instruction, "is not supported: its rounding is one of rn, rz, rm, rp");
		return;
	}
	if (!is_number(to) && !whole)
		refuse(writer, instruction, "needs a rounding: one of rni, rzi, rmi, rpi");
	if (whole && (is_number(to) || strcmp(whole, "rzi") != 0))
		open_call(writer, n_open, !strcmp(whole, "rni") ? "__builtin_rint" : !strcmp(whole, "rzi") ?
			  "__builtin_trunc" : !strcmp(whole, "rmi") ? "__builtin_floor" : "__builtin_ceil",
			  from == ADSM_PTX_f64 ? "" : "f", "", "");
}

/* Which modifiers go together. Roundings are checked elsewhere. */
static void check_modifiers(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const enum adsm_ptx_type to = instruction->types[0], from = instruction->types[1];

	if (adsm_ptx_has(instruction, "relu") && (!is_half(to) || from != ADSM_PTX_f32 ||
						  adsm_ptx_one_of(instruction, "rm|rp|ftz|sat")))
		refuse(writer, instruction, "is not supported: relu is for f16.f32 and bf16.f32 with rn and rz");
	if (adsm_ptx_has(instruction, "ftz") && to != ADSM_PTX_f32 && from != ADSM_PTX_f32)
		refuse(writer, instruction, "is not supported: ftz is for f32");
	if (adsm_ptx_has(instruction, "sat") && to == ADSM_PTX_bf16)
		refuse(writer, instruction, "is not supported: there is no sat for bf16");
}

static void write_number(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const enum adsm_ptx_type to = instruction->types[0], from = instruction->types[1];
	const bool flush = adsm_ptx_has(instruction, "ftz");
	int n_open = 0;

	check_modifiers(writer, instruction);
	adsm_ptx_begin(writer, &instruction->operands[0], to);
	if (adsm_ptx_has(instruction, "sat") && is_number(to))
		open_call(writer, &n_open, "ptx_sat_", adsm_ptx_type_name(to), "", "");
	if (adsm_ptx_has(instruction, "relu"))
		open_call(writer, &n_open, "ptx_relu_", adsm_ptx_type_name(to), "", "");
	if (flush && to == ADSM_PTX_f32)
		open_call(writer, &n_open, "ptx_flush", "", "", "");
	if (is_number(to))
		open_to_number(writer, instruction, &n_open);
	else
		open_call(writer, &n_open, "ptx_", adsm_ptx_type_name(to), "_of_",
			  from == ADSM_PTX_f64 ? "f64" : "f32");
	open_whole(writer, instruction, &n_open);
	if (is_half(from))
		open_call(writer, &n_open, "ptx_f32_of_", adsm_ptx_type_name(from), "", "");
	if (flush && from == ADSM_PTX_f32)
		open_call(writer, &n_open, "ptx_flush", "", "", "");
	adsm_ptx_read(writer, &instruction->operands[1], from);
	for (; n_open; n_open--)
		adsm_ptx_print(writer, ")");
	adsm_ptx_end(writer, &instruction->operands[0], to);
}

static void write_cvt(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const enum adsm_ptx_type to = instruction->types[0], from = instruction->types[1];

	if (instruction->n != 2)
		refuse(writer, instruction, "has two operands");
	if (is_number(to) || is_number(from))
		write_number(writer, instruction);
	else
		write_integer(writer, instruction);
}

/* Integers limited to fewer bits, side by side, perhaps before what operand 3 holds. */
static void write_pack(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const enum adsm_ptx_type to = instruction->types[0], bits = adsm_ptx_unsigned(adsm_ptx_size(to));
	const uint32_t width = 8 * adsm_ptx_size(to);

	adsm_ptx_expression(writer, instruction, "{ const int32_t x = $1i, y = $2i; ");
	adsm_ptx_begin(writer, &instruction->operands[0], ADSM_PTX_b32);
	adsm_ptx_print(writer, "(uint32_t)(%s)", adsm_ptx_c_type(bits));
	print_limited(writer, to, ADSM_PTX_s32, "x");
	adsm_ptx_print(writer, " << %u | (uint32_t)(%s)", width, adsm_ptx_c_type(bits));
	print_limited(writer, to, ADSM_PTX_s32, "y");
	if (instruction->n == 4) {
		adsm_ptx_print(writer, " | ptx_shl_b32(");
		adsm_ptx_expression(writer, instruction, "$3w");
		adsm_ptx_print(writer, ", %u)", 2 * width);
	}
	adsm_ptx_end(writer, &instruction->operands[0], ADSM_PTX_b32);
	adsm_ptx_print(writer, " }");
}

#define TO(t) t ".u8 " t ".s8 " t ".u16 " t ".s16 " t ".u32 " t ".s32 " t ".u64 " t ".s64 " t ".f16 " t ".bf16 " \
	t ".f32 " t ".f64 "

const struct adsm_ptx_form adsm_ptx_convert_forms[] = {
	{ "cvt", "?rn|rz|rm|rp|rni|rzi|rmi|rpi ?ftz ?sat ?relu",
	  TO("u8") TO("s8") TO("u16") TO("s16") TO("u32") TO("s32") TO("u64") TO("s64") TO("f16") TO("bf16") TO("f32")
	  TO("f64"), 0, NULL, write_cvt },
	{ "cvt", "rn|rz", "f16x2.f32", 'w',
	  "(uint32_t)ptx_f16_$r($1) << 16 | ptx_f16_$r($2)", NULL },
	{ "cvt", "rn|rz relu", "f16x2.f32", 'w',
	  "(uint32_t)ptx_relu_f16(ptx_f16_$r($1)) << 16 | ptx_relu_f16(ptx_f16_$r($2))", NULL },
	{ "cvt", "rn|rz", "bf16x2.f32", 'w',
	  "(uint32_t)ptx_bf16_$r($1) << 16 | ptx_bf16_$r($2)", NULL },
	{ "cvt", "rn|rz relu", "bf16x2.f32", 'w',
	  "(uint32_t)ptx_relu_bf16(ptx_bf16_$r($1)) << 16 | ptx_relu_bf16(ptx_bf16_$r($2))", NULL },
	{ "cvt", "rna", "tf32.f32", 'w', "ptx_tf32_rna($1)", NULL },
	{ "cvt", "pack sat", "u16.s32 s16.s32 u8.s32.b32 s8.s32.b32", 0, NULL, write_pack },
	{ NULL, NULL, NULL, 0, NULL, NULL },
};
