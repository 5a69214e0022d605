/* SPDX-License-Identifier: MIT */
/* list.h - the forms of instructions that each file has. */
#pragma once

#include "form.h"

/* The tables of all files. Each ends with an opcode that is NULL. */
extern const struct adsm_ptx_form adsm_ptx_integer_forms[], adsm_ptx_bits_forms[], adsm_ptx_float_forms[],
	adsm_ptx_half_forms[], adsm_ptx_compare_forms[], adsm_ptx_convert_forms[], adsm_ptx_move_forms[],
	adsm_ptx_memory_forms[], adsm_ptx_atomic_forms[], adsm_ptx_tex_forms[], adsm_ptx_call_forms[],
	adsm_ptx_yield_forms[], adsm_ptx_control_forms[];

/* Table @i of these; NULL: there are fewer. */
const struct adsm_ptx_form *adsm_ptx_table(size_t i);
/* The form of an instruction. One that is not supported is refused: the error lists the forms of its opcode. */
const struct adsm_ptx_form *adsm_ptx_find_form(struct adsm_ptx_writer *writer,
					       const struct adsm_ptx_instruction *instruction);
