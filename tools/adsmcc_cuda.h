/* SPDX-License-Identifier: MIT */
/* adsmcc_cuda.h - CUDA C: PTX of a source by clang, with headers of our own. Nothing of NVIDIA's is used. */
#pragma once

#include "adsmcc_compile.h"

/* What clang is run with. */
struct cuda {
	const char *clang;		/* a command with its arguments, separated by spaces; NULL: find one */
	const char *headers;		/* the folder of cuda_runtime.h */
	const struct list *options;	/* of the command line: -O, -f, -g, -m, -W, -std, -D and -I */
	const char *dependencies;	/* NULL, or a file for make's rules */
	bool emit_ptx;			/* write PTX instead of a module */
	bool only_ptx;			/* write a module without code */
	bool emit_text;			/* write the C text of the PTX instead of a module */
	bool list_kernels;		/* only print what would become of each kernel */
	bool explain;			/* only print what each kernel does with its parameters */
	bool check;			/* kernels check their accesses and barriers */
	bool lockstep;			/* the threads of a warp access memory together */
};

/* By the suffix of its name: is the file CUDA C? Is it PTX? */
bool is_cuda(const char *path);
bool is_ptx(const char *path);

/* The command of clang with what it needs to parse CUDA C. If there is no clang, adsmcc exits. */
struct list clang_front_end(const struct cuda *cuda);
/* Add the options of the command line that clang gets: not those for processors, and no folder of CUDA's toolkit. */
void add_clang_options(struct list *argv, const struct list *options);

/*
 * Make a module of the file @input, which is CUDA C or PTX. @tools: its options are not used. @output: NULL is standard
 * output, for PTX. Returns an exit status.
 */
int compile_cuda(const struct cuda *cuda, const struct tools *tools, const char *input, const char *output);
