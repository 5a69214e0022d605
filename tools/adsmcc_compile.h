/* SPDX-License-Identifier: MIT */
/* adsmcc_compile.h - the text goes to the C compiler, and to CUDA's: a module. */
#ifndef ADSMCC_COMPILE_H
#define ADSMCC_COMPILE_H

#include "adsmcc_text.h"

/* The CUDA compiler that is here; there is one, or this is the end. */
const char *find_nvcc(void);

struct partition_options;

/* What modules are made with. */
struct tools {
	const char *compiler;		/* a command, of words */
	const struct list *options;	/* for it */
	const char *nvcc, *architecture;	/* NULL: no PTX */
	/* What else goes into a module, added to its source in folder @dir; returns an exit status. NULL: nothing. */
	int (*add)(struct text *source, const struct text *text, const struct tools *tools, const char *dir);
	const char *clang;		/* for code for cores with a local store; a command */
	const char *spaces;		/* adsmcc-spaces */
	const char *store_header;	/* adsm_scratchpad.h */
	/* What of that code is in which partition; NULL: it is in one piece. */
	const struct partition_options *partition;
};

/*
 * Compile @text into the module @output, which appears only when all went well: the linker writes into a
 * directory next to it, removed in any case.
 */
int compile(const struct tools *tools, const struct text *text, const char *output);

#define C_COMPILER "C compiler"

/*
 * Run @argv with @input as its standard input. @ret_output: what it writes to its standard output; NULL: that is ours.
 * @what: what it is, for messages, which say how to choose another; NULL: neither it nor adsmcc says anything.
 * Returns its exit status.
 */
int run_tool(char *const *argv, const struct text *input, struct text *ret_output, const char *what);

/* The bytes of @text and a NUL, as an array in section @name. */
void add_section(struct text *source, const char *name, const struct text *text);

#endif
