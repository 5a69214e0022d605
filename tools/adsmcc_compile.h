/* SPDX-License-Identifier: MIT */
/* adsmcc_compile.h - makes a module of the text, by the C compiler and nvcc. */
#pragma once

#include "adsmcc_text.h"

/* The path of nvcc. If there is none, adsmcc exits. */
const char *find_nvcc(void);

struct partition_options;

/* What modules are made with. */
struct tools {
	const char *compiler;		/* a command with its arguments, separated by spaces */
	const struct list *options;	/* for the compiler */
	const char *nvcc, *architecture;	/* NULL: no PTX */
	/* NULL, or adds other sections to the module's source. @dir: for temporary files. Returns an exit status. */
	int (*add)(struct text *source, const struct text *text, const struct tools *tools, const char *dir);
	const char *clang;		/* the command that makes code for cores with a local store */
	const char *spaces;		/* the path of adsmcc-spaces */
	const char *store_header;	/* the path of adsm_scratchpad.h */
	/* How the code for such cores is divided into partitions. NULL: it is in one piece. */
	const struct partition_options *partition;
};

/*
 * Compile @text into the module @output. The file appears only if there was no error: the linker writes into a
 * temporary directory beside it, which is removed in any case.
 */
int compile(const struct tools *tools, const struct text *text, const char *output);

/* The same for a source that is complete. @compiler: a command with its arguments, separated by spaces. */
int compile_source(const char *compiler, const struct list *options, const struct text *source, const char *output);

/*
 * Make a folder of temporary files beside the output. adsmcc removes it when it ends. Returns the path of the result in
 * it.
 */
char *begin_work(const char *output);
/* If @status is 0, @result becomes the output. Removes the folder. If a signal has been caught, adsmcc ends by it, and
 * the output does not change. Returns the exit status. */
int end_work(int status, const char *result, const char *output);

#define C_COMPILER "C compiler"
#define CLANG_COMPILER "clang"
/*
 * The option for errors in macros of adsm_kernel.h: the C compiler reports them at the line of the source. Without the
 * option it adds a note for each macro inside of another one, which may be hundreds.
 */
const char *brief_errors(const char *compiler);
#define CLANG_BRIEF "-fmacro-backtrace-limit=1"	/* the same for clang */

/*
 * Run @argv with @input as its standard input, which is empty for NULL. Returns its exit status.
 * @ret_output: gets its standard output; NULL: it writes to that of adsmcc.
 * @what: the kind of tool, for error messages, which also say how to choose another one; NULL: no messages, neither
 * from the tool nor from adsmcc.
 */
int run_tool(const struct list *argv, const struct text *input, struct text *ret_output, const char *what);

/* Add an array in section @name with the bytes of @text and a NUL. */
void add_section(struct text *source, const char *name, const struct text *text);

/* ---- a module's code for cores with a local store, by clang and adsmcc-spaces (adsmcc_scratchpad.c) */

/*
 * Add this code to the module's @source, and what its kernels need of a local store. @dir: for temporary files. Returns
 * 0, or the exit status of the tool that failed.
 */
int add_scratchpad(struct text *source, const struct text *text, const struct tools *tools, const char *dir);
/* The steps of add_scratchpad(). @argv: a command of clang. Each returns the exit status. */
struct list store_command(const struct tools *tools, bool in_partitions);
int compile_text(const struct text *text, struct list argv, const char *header, const char *bitcode);
int replace_accesses(const struct tools *tools, const char *plain, const char *spaces, const char *calls,
		     const char *lines);
int make_code(struct list argv, const char *bitcode, const char *code);
/* Make an image of partitions of @object, and add it to the module's @source. */
int link_partitions(struct text *source, const struct partition_options *options, const struct text *object);
/*
 * For partitions that adsmcc chooses, there are two bitcodes of the text: of the code in one piece, and of the code in
 * partitions. Both use the same tables and variables, so the optimiser must not change or remove these in one of them.
 * This makes one of the bitcodes (adsmcc_automatic.c).
 */
int compile_shared(const struct text *text, const struct tools *tools, bool in_partitions, const char *bitcode);
/*
 * The same from the text, for partitions that adsmcc chooses (adsmcc_automatic.c). The stacks in @needs, of struct
 * adsm_store_needs, are raised to those of this code.
 */
int add_automatic(struct text *source, const struct text *text, const struct tools *tools, const char *dir,
		  struct text *needs);
/* The command of the clang whose LLVM adsmcc was built with; "": adsmcc was built without LLVM. */
const char *find_clang(void);
/* The path of adsmcc-spaces. If it is missing, adsmcc exits. */
const char *find_spaces(void);
