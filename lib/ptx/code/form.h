/* SPDX-License-Identifier: MIT */
/*
 * form.h - the forms of instructions: what may follow an opcode, and the C expression of it.
 *
 * A form is a row: opcode, modifiers, types, and a text with operands in it. Instructions that are not one assignment
 * have a function instead. The first form that an instruction has is the right one; an instruction that has none is
 * refused, and the error lists the forms of its opcode.
 */
#pragma once

#include "writer.h"

/*
 * Modifiers: words with spaces between them, in the order of the manual. "lo": must be there; "?sat": may be there;
 * "rn|rz": one of them must be there; "?rn|rz": one of them may be there. "~": hints about caches may be there, L1::...
 * and L2::.... Types are not among the modifiers.
 *
 * Types: words with spaces between them: "u32", or "f16.f32" for an instruction with two types. "": no type.
 *
 * Text: an expression with
 *	$1 ... $4	the operand of this index, as a value of the last type, t. A letter after it names another type:
 *			u: as wide as t, without a sign; w, i: u32, s32; p: a predicate; x: the first type;
 *			W: twice as wide as t; X: the bits of the first type; h: t, and as f32 if it is f16 or bf16
 *	$t $x		the name of the last type, and of the first one
 *	$U $D $E	the C type of u; of W; of W without a sign
 *	$B		the number of bits of t
 *	$r		the first modifier of the instruction that belongs to a word with alternatives
 * With .ftz, operands of t are flushed, and the result is. With .sat, the result is between 0 and 1. Both only hold for
 * floating-point types.
 */
struct adsm_ptx_form {
	const char *opcode;
	const char *modifiers;
	const char *types;
	char result;			/* a letter like those of operands; 0: t */
	const char *text;
	void (*write)(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction);
};

/* Append an assignment of an expression to operand 0: a text as in a form. */
void adsm_ptx_assign(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction, char result,
		     const char *text);
/* Append the expression of a text as in a form. */
void adsm_ptx_expression(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction,
			 const char *text);
/* The type that a letter of a text stands for. */
enum adsm_ptx_type adsm_ptx_letter_type(struct adsm_ptx_writer *writer,
					const struct adsm_ptx_instruction *instruction, char letter);
/* The integer type of a size in bytes. */
enum adsm_ptx_type adsm_ptx_unsigned(uint32_t size);
enum adsm_ptx_type adsm_ptx_signed(uint32_t size);
/* The first modifier of the instruction that is one of the words of "rn|rz|rm"; NULL: it has none. */
const char *adsm_ptx_one_of(const struct adsm_ptx_instruction *instruction, const char *words);
/* Write the instruction's opcode and modifiers, as in the PTX. */
void adsm_ptx_full_name(const struct adsm_ptx_instruction *instruction, char *text, size_t size);
/* Does an instruction have this form? */
bool adsm_ptx_form_fits(const struct adsm_ptx_form *form, const struct adsm_ptx_instruction *instruction);
/* Append the statement of an instruction that has the form. */
void adsm_ptx_write_form(struct adsm_ptx_writer *writer, const struct adsm_ptx_form *form,
			 const struct adsm_ptx_instruction *instruction);
/* Describe a form for messages. Returns the length of the text; at least @size if it has been cut. */
size_t adsm_ptx_describe_form(const struct adsm_ptx_form *form, char *text, size_t size);
