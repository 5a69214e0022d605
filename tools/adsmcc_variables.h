/* SPDX-License-Identifier: MIT */
/* adsmcc_variables.h - which variables of a module its kernels may change. */
#ifndef ADSMCC_VARIABLES_H
#define ADSMCC_VARIABLES_H

#include "adsmcc_text.h"

/*
 * The variables of @module, a linked shared object made of the flattened text @source, that its code may change:
 * "seen, counts". What it only reads, the library's own and the C compiler's do not count. "": there are none.
 */
struct text find_variables(const struct text *module, const struct text *source);
/* Warn of each, with the line of the source where it is. */
void warn_variables(const struct text *variables);

#endif
