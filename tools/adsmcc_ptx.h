/* SPDX-License-Identifier: MIT */
/* adsmcc_ptx.h - makes a module of PTX. */
#pragma once

#include <stdbool.h>

#include "adsmcc_compile.h"
#include "ptx/code/translate.h"

/*
 * Make the module @output of PTX. @name: what errors call the PTX. @only_ptx: the module has no code, and the library
 * compiles its kernels. Kernels that cannot be translated are reported, and left out. If no kernel is left, there is no
 * module. Returns an exit status.
 * @described: PTX of the same kernels that says more exactly what they do with their parameters; NULL: @ptx does.
 */
int compile_ptx(const struct tools *tools, const struct adsm_ptx_options *how, const char *name,
		const struct text *ptx, const struct text *described, bool only_ptx, const char *output);

/* Print each kernel of PTX: that it can be translated, or why not and where. Returns an exit status. */
int list_ptx(const char *name, const struct text *ptx);

/* Write the C text of PTX into a file; @output NULL: standard output. Returns an exit status. */
int emit_ptx_text(const struct adsm_ptx_options *how, const char *name, const struct text *ptx, const char *output);
