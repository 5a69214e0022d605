/* SPDX-License-Identifier: MIT */
/* adsmcc_variables.h - finds the variables of a module that its kernels may change. */
#ifndef ADSMCC_VARIABLES_H
#define ADSMCC_VARIABLES_H

#include "adsmcc_text.h"

/*
 * The names of the variables in writable memory of @module, a shared object compiled from the flattened text @source.
 * The library's own variables, the C compiler's, and those with ADSM_PER_NODE are left out.
 */
struct list find_variables(const struct text *module, const struct text *source);
/*
 * Write @source to @out with the variable @name declared const. If that compiles without a warning about a lost const,
 * and find_variables() does not find the variable any longer, no code changes it. False: this method cannot be used.
 */
bool make_constant(struct text *out, const struct text *source, const char *name);
/* Warn of each variable, with its line in the source. The source is the last text that was split into tokens. */
void warn_variables(const struct list *variables);

#endif
