/* SPDX-License-Identifier: MIT */
/* adsmcc_scratchpad.h - a module's code for cores with a local store: by clang and adsmcc-spaces. */
#ifndef ADSMCC_SCRATCHPAD_H
#define ADSMCC_SCRATCHPAD_H

#include "adsmcc_compile.h"

/*
 * Add it to the module's @source, with what its kernels need; intermediate files are in @dir. Returns the exit status
 * of what failed, or 0.
 */
int add_scratchpad(struct text *source, const struct text *text, const struct tools *tools, const char *dir);
/* The clang that adsmcc was built with the LLVM of; "": it was built without. */
const char *find_clang(void);
/* adsmcc-spaces, which is there, or this is the end. */
const char *find_spaces(void);

#endif
