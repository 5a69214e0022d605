/* SPDX-License-Identifier: MIT */
/* adsmcc_variables.h - which variables of a module its kernels may change. */
#ifndef ADSMCC_VARIABLES_H
#define ADSMCC_VARIABLES_H

#include "adsmcc_text.h"

/*
 * The names of the variables of @module, a linked shared object made of the flattened text @source, that the compiler
 * did not put into memory for reading only. The library's own, the C compiler's and those of ADSM_PER_NODE do not
 * count.
 */
struct list find_variables(const struct text *module, const struct text *source);
/*
 * Write @source to @out with the variable @name declared const. Where that compiles without a warning that a pointer
 * loses its const, and find_variables() does not find the variable any longer, nothing changes it. False: it cannot be
 * told that way.
 */
bool make_constant(struct text *out, const struct text *source, const char *name);
/* Warn of each, with the line of the source where it is: of the last text that was read. */
void warn_variables(const struct list *variables);

#endif
