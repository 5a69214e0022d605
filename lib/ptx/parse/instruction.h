/* SPDX-License-Identifier: MIT */
/* instruction.h - instructions. */
#pragma once

#include "parser.h"

/*
 * Read an instruction up to its semicolon, and add it to those of the function. @opcode: its name, which is the token
 * before the current one, in @line. @guard: what stands in front of it.
 */
void adsm_ptx_read_instruction(struct adsm_ptx_parser *parser, const struct adsm_ptx_name *opcode, int line,
			       const struct adsm_ptx_operand *guard);
/* Make an operand of the name of a function of the module, which need not be declared yet. */
void adsm_ptx_name_function(struct adsm_ptx_parser *parser, struct adsm_ptx_name *name, int line,
			    struct adsm_ptx_operand *operand);
