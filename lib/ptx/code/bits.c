/* SPDX-License-Identifier: MIT */
/* bits.c - logic, shifts, and instructions on fields of bits. */
#include "list.h"

#include <string.h>

/* A function of b and c by its truth table: bit 2 * b + c. %b and %c stand for the operands. */
static const char *const of_two[16] = {
	"0u", "~(%b | %c)", "(~%b & %c)", "~%b", "(%b & ~%c)", "~%c", "(%b ^ %c)", "~(%b & %c)",
	"(%b & %c)", "~(%b ^ %c)", "%c", "(~%b | %c)", "%b", "(%b | ~%c)", "(%b | %c)", "0xffffffffu",
};

static void print_of_two(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction,
			 uint32_t table)
{
	for (const char *at = of_two[table]; *at; at++) {
		if (*at != '%') {
			adsm_ptx_print(writer, "%c", *at);
			continue;
		}
		at++;
		adsm_ptx_read(writer, &instruction->operands[*at == 'b' ? 2 : 3], ADSM_PTX_b32);
	}
}

/* Bit 4 * a + 2 * b + c of the table is the result: a function of b and c where a is 0, and one where a is 1. */
static void write_lop3(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const struct adsm_ptx_operand *operands = instruction->operands;
	uint32_t clear, set;

	if (instruction->n != 5 || operands[4].kind != ADSM_PTX_OP_INTEGER || operands[4].bits > 255)
		adsm_ptx_refuse(writer, "lop3.b32 needs three operands and a constant between 0 and 255");
	clear = operands[4].bits & 15;
	set = operands[4].bits >> 4 & 15;
	adsm_ptx_begin(writer, &operands[0], ADSM_PTX_b32);
	if (clear == set) {
		print_of_two(writer, instruction, clear);
	} else if ((clear ^ set) == 15) {
		adsm_ptx_read(writer, &operands[1], ADSM_PTX_b32);
		adsm_ptx_print(writer, " ^ ");
		print_of_two(writer, instruction, clear);
	} else {
		adsm_ptx_print(writer, "(~");
		adsm_ptx_read(writer, &operands[1], ADSM_PTX_b32);
		adsm_ptx_print(writer, " & ");
		print_of_two(writer, instruction, clear);
		adsm_ptx_print(writer, ") | (");
		adsm_ptx_read(writer, &operands[1], ADSM_PTX_b32);
		adsm_ptx_print(writer, " & ");
		print_of_two(writer, instruction, set);
		adsm_ptx_print(writer, ")");
	}
	adsm_ptx_end(writer, &operands[0], ADSM_PTX_b32);
}

#define BITS "b16 b32 b64"
#define WORDS "u32 s32 u64 s64"

const struct adsm_ptx_form adsm_ptx_bits_forms[] = {
	{ "and", "", "pred", 0, "$1 & $2", NULL },
	{ "or", "", "pred", 0, "$1 | $2", NULL },
	{ "xor", "", "pred", 0, "$1 ^ $2", NULL },
	{ "not", "", "pred", 0, "!$1", NULL },
	{ "and", "", BITS, 0, "$1 & $2", NULL },
	{ "or", "", BITS, 0, "$1 | $2", NULL },
	{ "xor", "", BITS, 0, "$1 ^ $2", NULL },
	{ "not", "", BITS, 0, "~$1", NULL },
	{ "cnot", "", BITS, 0, "$1 == 0", NULL },
	{ "lop3", "", "b32", 0, NULL, write_lop3 },
	{ "shl", "", BITS, 0, "ptx_shl_$t($1, $2w)", NULL },
	{ "shr", "", BITS " u16 s16 " WORDS, 0, "ptx_shr_$t($1, $2w)", NULL },
	{ "shf", "l wrap", "b32", 0, "ptx_shf_l($1, $2, $3w & 31u)", NULL },
	{ "shf", "l clamp", "b32", 0, "ptx_shf_l($1, $2, $3w)", NULL },
	{ "shf", "r wrap", "b32", 0, "ptx_shf_r($1, $2, $3w & 31u)", NULL },
	{ "shf", "r clamp", "b32", 0, "ptx_shf_r($1, $2, $3w)", NULL },
	{ "bfe", "", WORDS, 0, "ptx_bfe_$t($1, $2w, $3w)", NULL },
	{ "bfi", "", "b32 b64", 0, "ptx_bfi_$t($1, $2, $3w, $4w)", NULL },
	{ "bfind", "", WORDS, 'w', "ptx_bfind_$t($1)", NULL },
	{ "bfind", "shiftamt", WORDS, 'w', "ptx_bfind_shift_$t($1)", NULL },
	{ "brev", "", "b32 b64", 0, "ptx_brev_$t($1)", NULL },
	{ "popc", "", "b32 b64", 'w', "ptx_popc_$t($1)", NULL },
	{ "clz", "", "b32 b64", 'w', "ptx_clz_$t($1)", NULL },
	{ "fns", "", "b32", 0, "ptx_fns($1, $2w, $3i)", NULL },
	{ "prmt", "", "b32", 0, "ptx_prmt($1, $2, $3w)", NULL },
	{ "prmt", "f4e|b4e|rc8|ecl|ecr|rc16", "b32", 0, "ptx_prmt($1, $2, ptx_prmt_$r($3w))", NULL },
	{ "szext", "clamp|wrap", "u32 s32", 0, "ptx_szext_$r_$t($1, $2w)", NULL },
	{ "bmsk", "clamp|wrap", "b32", 0, "ptx_bmsk_$r($1w, $2w)", NULL },
	{ NULL, NULL, NULL, 0, NULL, NULL },
};
