/* SPDX-License-Identifier: MIT */
/* operand.h - operands of instructions. */
#pragma once

#include "parser.h"

/* Read an operand into memory of the module. An operand d|p is one. */
void adsm_ptx_read_operand(struct adsm_ptx_parser *parser, struct adsm_ptx_operand *operand);
/* Read (a, b) of a call, or (). */
void adsm_ptx_read_list(struct adsm_ptx_parser *parser, struct adsm_ptx_operand *operand);
/* Make an operand of the name of a label, which is looked for at the end of the scope. */
void adsm_ptx_name_label(struct adsm_ptx_parser *parser, struct adsm_ptx_name *name, int line,
			 struct adsm_ptx_operand *operand);
/* Read the register of a predicate, which may be negated. */
void adsm_ptx_read_predicate(struct adsm_ptx_parser *parser, struct adsm_ptx_operand *operand);
