/* SPDX-License-Identifier: MIT */
/* adsmcc_scratchpad.h - makes a module's code for cores with a local store, by clang and adsmcc-spaces. */
#ifndef ADSMCC_SCRATCHPAD_H
#define ADSMCC_SCRATCHPAD_H

#include "adsmcc_compile.h"

/*
 * Add this code to the module's @source, and what its kernels need of a local store. @dir: for temporary files. Returns
 * 0, or the exit status of the tool that failed.
 */
int add_scratchpad(struct text *source, const struct text *text, const struct tools *tools, const char *dir);
/* The command of the clang whose LLVM adsmcc was built with; "": adsmcc was built without LLVM. */
const char *find_clang(void);
/* The path of adsmcc-spaces. If it is missing, adsmcc exits. */
const char *find_spaces(void);

#endif
