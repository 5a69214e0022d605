/* SPDX-License-Identifier: MIT */
/* adsmcc_compile.h - the text goes to the C compiler, and to CUDA's: a module. */
#ifndef ADSMCC_COMPILE_H
#define ADSMCC_COMPILE_H

#include "adsmcc_text.h"

/* The CUDA compiler that is here; there is one, or this is the end. */
const char *find_nvcc(void);
/*
 * Compile @text into the module @output, which appears only when all went well: the linker writes into a
 * directory next to it, removed in any case. @nvcc: NULL: no PTX.
 */
int compile(const char *compiler, const struct list *options, const struct text *text, const char *nvcc,
	    const char *architecture, const char *output);

#define C_COMPILER "C compiler"

/*
 * Run @argv with @input as its standard input. @ret_output: what it writes to its standard output; NULL: that is ours.
 * @what it is, and how to choose another, for messages. Returns its exit status.
 */
int run_tool(char *const *argv, const struct text *input, struct text *ret_output, const char *what);

#endif
