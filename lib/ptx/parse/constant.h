/* SPDX-License-Identifier: MIT */
/* constant.h - numbers and constant expressions. */
#pragma once

#include "lex.h"

struct adsm_ptx_constant {
	enum adsm_ptx_kind kind;	/* INTEGER, F32 or F64 */
	uint64_t bits;
	bool is_unsigned;		/* an integer */
};

/* Can a constant expression begin with the current token? */
bool adsm_ptx_at_constant(const struct adsm_ptx_lexer *lexer);
struct adsm_ptx_constant adsm_ptx_constant(struct adsm_ptx_lexer *lexer);
/* One that is an integer. */
uint64_t adsm_ptx_integer(struct adsm_ptx_lexer *lexer);
/* One that is an integer from @least to @most. @what: "an alignment". */
uint64_t adsm_ptx_bounded(struct adsm_ptx_lexer *lexer, uint64_t least, uint64_t most, const char *what);
/* The same, a single number. */
uint64_t adsm_ptx_literal(struct adsm_ptx_lexer *lexer, uint64_t least, uint64_t most, const char *what);
/* The bits of a constant as an element of a type. It fails in @line if the type cannot have this constant. */
uint64_t adsm_ptx_convert(struct adsm_ptx_lexer *lexer, struct adsm_ptx_constant constant, enum adsm_ptx_type type,
			  int line);
