/* SPDX-License-Identifier: MIT */
/* integer.c - integer arithmetic, with carry and without. */
#include "list.h"

#define ALL "u16 s16 u32 s32 u64 s64"
#define WORDS "u32 s32 u64 s64"
#define HIGH "($U)((($D)$1 * $2) >> $B)"

/* The operation that a carry is added to or a borrow is subtracted from, wider than the type. */
static const char *carry_text(const struct adsm_ptx_instruction *instruction)
{
	const bool takes = adsm_ptx_is(instruction, "addc") || adsm_ptx_is(instruction, "subc") ||
			   adsm_ptx_is(instruction, "madc");

	if (adsm_ptx_is(instruction, "mad") || adsm_ptx_is(instruction, "madc")) {
		if (adsm_ptx_has(instruction, "lo"))
			return takes ? "($E)($U)($1u * $2u) + $3u + cc" : "($E)($U)($1u * $2u) + $3u";
		return takes ? "($E)" HIGH " + $3u + cc" : "($E)" HIGH " + $3u";
	}
	if (adsm_ptx_is(instruction, "sub") || adsm_ptx_is(instruction, "subc"))
		return takes ? "($E)$1u - $2u - cc" : "($E)$1u - $2u";
	return takes ? "($E)$1u + $2u + cc" : "($E)$1u + $2u";
}

static void write_carry(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	writer->uses_carry = true;
	adsm_ptx_expression(writer, instruction, "{ const $E w = ");
	adsm_ptx_expression(writer, instruction, carry_text(instruction));
	adsm_ptx_print(writer, "; ");
	if (adsm_ptx_has(instruction, "cc"))
		adsm_ptx_expression(writer, instruction, "cc = (uint32_t)(w >> $B) & 1u; ");
	adsm_ptx_assign(writer, instruction, 'u', "($U)w");
	adsm_ptx_print(writer, " }");
}

const struct adsm_ptx_form adsm_ptx_integer_forms[] = {
	{ "add", "", ALL, 'u', "$1u + $2u", NULL },
	{ "add", "sat", "s32", 0, "ptx_add_sat($1, $2)", NULL },
	{ "add", "cc", WORDS, 0, NULL, write_carry },
	{ "addc", "?cc", WORDS, 0, NULL, write_carry },
	{ "sub", "", ALL, 'u', "$1u - $2u", NULL },
	{ "sub", "sat", "s32", 0, "ptx_sub_sat($1, $2)", NULL },
	{ "sub", "cc", WORDS, 0, NULL, write_carry },
	{ "subc", "?cc", WORDS, 0, NULL, write_carry },
	{ "mul", "lo", ALL, 'u', "$1u * $2u", NULL },
	{ "mul", "hi", ALL, 'u', HIGH, NULL },
	{ "mul", "wide", "u16 s16 u32 s32", 'W', "($D)$1 * $2", NULL },
	{ "mad", "lo", ALL, 'u', "$1u * $2u + $3u", NULL },
	{ "mad", "hi", ALL, 'u', HIGH " + $3u", NULL },
	{ "mad", "wide", "u16 s16 u32 s32", 'W', "($D)$1 * $2 + $3W", NULL },
	{ "mad", "hi sat", "s32", 0, "ptx_add_sat((int32_t)(((int64_t)$1 * $2) >> 32), $3)", NULL },
	{ "mad", "lo|hi cc", WORDS, 0, NULL, write_carry },
	{ "madc", "lo|hi ?cc", WORDS, 0, NULL, write_carry },
	{ "mul24", "lo", "u32 s32", 'u', "(uint32_t)ptx_mul24_$t($1, $2)", NULL },
	{ "mul24", "hi", "u32 s32", 'u', "(uint32_t)(ptx_mul24_$t($1, $2) >> 16)", NULL },
	{ "mad24", "lo", "u32 s32", 'u', "(uint32_t)ptx_mul24_$t($1, $2) + $3u", NULL },
	{ "mad24", "hi", "u32 s32", 'u', "(uint32_t)(ptx_mul24_$t($1, $2) >> 16) + $3u", NULL },
	{ "mad24", "hi sat", "s32", 0, "ptx_add_sat((int32_t)(ptx_mul24_s32($1, $2) >> 16), $3)", NULL },
	{ "sad", "", ALL, 'u', "$3u + ($1 < $2 ? $2u - $1u : $1u - $2u)", NULL },
	{ "div", "", ALL, 0, "ptx_div_$t($1, $2)", NULL },
	{ "rem", "", ALL, 0, "ptx_rem_$t($1, $2)", NULL },
	{ "abs", "", "s16 s32 s64", 'u', "$1 < 0 ? 0u - $1u : $1u", NULL },
	{ "neg", "", "s16 s32 s64", 'u', "0u - $1u", NULL },
	{ "min", "", ALL, 0, "$1 < $2 ? $1 : $2", NULL },
	{ "max", "", ALL, 0, "$1 > $2 ? $1 : $2", NULL },
	{ "dp4a", "", "u32.u32 u32.s32 s32.u32 s32.s32", 'w', "ptx_dp4a_$x_$t($1w, $2w, $3w)", NULL },
	{ "dp2a", "lo", "u32.u32 u32.s32 s32.u32 s32.s32", 'w', "ptx_dp2a_$x_$t($1w, $2w, $3w)", NULL },
	{ "dp2a", "hi", "u32.u32 u32.s32 s32.u32 s32.s32", 'w', "ptx_dp2a_$x_$t($1w, $2w >> 16, $3w)", NULL },
	{ NULL, NULL, NULL, 0, NULL, NULL },
};
