/* SPDX-License-Identifier: MIT */
/* adsmcc_source.h - what adsmcc finds in the source, and in the code that was made of it. */
#pragma once

#include <stdint.h>

#include "adsmcc_text.h"

/* ---- a text in C as words, numbers, strings and single characters (adsmcc_tokens.c) */

struct token {
	const char *start;
	int size;			/* 0: the end of the text */
	bool word;
	int line;
	const char *file;		/* not terminated */
	int file_size;
};

extern struct token *tokens;	/* of the last text */
extern bool partitions_said;	/* the last text has an ADSM_PARTITION, also in a macro, but not in adsm_kernel.h */

/* Split @p into tokens; comments and directives are left out. A name with its members, "a.b", is one word. */
void tokenize(const char *p);
bool is(size_t i, const char *string);
bool is_end(size_t i);
/* The token behind the bracket that closes the one at @i, or the end. */
size_t skip_group(size_t i);

/* ---- one text without includes, of a source file and all that it includes (adsmcc_flatten.c) */

extern const char *kernel_header;	/* set by the caller: the path of adsm_kernel.h */
extern struct list include_dirs;	/* set by the caller: the folders of -I */
extern struct list inputs;		/* every file that was read, for -MF */

/* Append @contents, the contents of the file @path, with its includes replaced by the included files. */
void flatten_file(struct text *out, const char *path, const char *contents);
/* If the line at @p is the preprocessor directive @name, the text behind the name; else NULL. */
const char *directive(const char *p, const char *name);

/* ---- code in kernels that a C compiler accepts, but that a GPU cannot run (adsmcc_check.c) */

/*
 * Check the tokens of @in and append the text to @out, with ADSM_ENTER(parameters) behind the opening brace of each
 * kernel. OpenCL needs it, and no macro can put it there. Line numbers stay the same. Returns the number of kernels.
 */
size_t check_and_enter(struct text *out, const struct text *in);

/* ---- kernels that may do atomics on memory shared by blocks, or may call services (adsmcc_atomics.c) */

/* Append the macros that adsm_kernel.h uses to mark such kernels. @preprocessed: the whole module. */
void find_atomics(struct text *out, const char *preprocessed);

/* ---- variables of a module that its kernels may change (adsmcc_variables.c) */

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
/* Report that code in partitions cannot have a variable, with its line if that is known. @symbol: its name in the
 * object file. @in_module: the code is of a module, and not of an image. */
void refuse_variable(const char *symbol, bool in_module);

/* ---- processors (adsmcc_processor.c) */

/* The macros that the compiler predefines with these options. NULL: none. A failure of the compiler ends adsmcc. */
const char *predefined_macros(const char *compiler, const struct list *options);
/*
 * If the options name no processor, add one that has fused operations and vectors of 256 bits: x86-64-v3. Returns the
 * level of processors that the code needs (lib/base/processor.h).
 */
unsigned choose_processor(const char *compiler, struct list *options);

/* ---- how much of a local store kernels need, from their code (adsmcc_needs.c) */

/*
 * Write to @needs an array of struct adsm_store_needs, one for each kernel of @code. @code is a shared object with
 * symbols and the section that -fstack-size-section makes. @calls has a line for each call: the names of caller and
 * callee; the callee is "*" for a call by a pointer.
 */
void find_needs(struct text *needs, const struct text *code, const struct text *calls);
/* Bytes of a function of libm, or of another library (adsmcc_libm.c). */
uint32_t library_bytes(const char *name);
/* The function of libm that LLVM calls for an intrinsic, such as llvm.sin.f32; other names stay as they are. */
const char *library_name(const char *called);
/* Does @code have a symbol of this name and size? */
bool code_contains(const struct text *code, const char *name, uint64_t size);
/* Raise the stack of each kernel of @needs to that in @other. Both are what find_needs() writes. */
void raise_stacks(struct text *needs, const struct text *other);
