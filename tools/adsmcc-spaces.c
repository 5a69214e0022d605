/* SPDX-License-Identifier: MIT */
/*
 * adsmcc-spaces.c - adsmcc's pass for cores with a local store. Its input is bitcode that clang has made of a module.
 *
 *	adsmcc-spaces IN.bc OUT.bc CALLS LINES
 *
 * For code in partitions that adsmcc chooses, it also does the steps of spaces_divide.h, and variables_keep():
 *
 *	adsmcc-spaces --keep IN.bc OUT.bc
 *	adsmcc-spaces --inline IN.bc OUT.bc
 *	adsmcc-spaces --divide IN.bc OUT.bc CALLS SIZES GROUPS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>

#include "spaces_accesses.h"
#include "spaces_divide.h"
#include "spaces_variables.h"

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "adsmcc-spaces: %s: %s\n", what, why ? why : "cannot be written");
	exit(1);
}

static LLVMModuleRef read_module(const char *path)
{
	LLVMMemoryBufferRef input;
	LLVMModuleRef module;
	char *why = NULL;

	if (LLVMCreateMemoryBufferWithContentsOfFile(path, &input, &why))
		fail(path, why);
	if (LLVMParseBitcodeInContext2(LLVMGetGlobalContext(), input, &module))
		fail(path, "is not bitcode that this LLVM can read; was it made by a newer clang?");
	return module;
}

static void write_module(LLVMModuleRef module, const char *from, const char *path)
{
	char *why = NULL;

	if (LLVMVerifyModule(module, LLVMReturnStatusAction, &why))
		fail(from, why);
	if (LLVMWriteBitcodeToFile(module, path))
		fail(path, NULL);
}

int main(int argc, char **argv)
{
	const char *why = NULL;
	LLVMModuleRef module;

	if (argc == 4 && !strcmp(argv[1], "--keep")) {
		module = read_module(argv[2]);
		variables_keep(module);
		write_module(module, argv[2], argv[3]);
	} else if (argc == 4 && !strcmp(argv[1], "--inline")) {
		module = read_module(argv[2]);
		divide_inline_small(module);
		write_module(module, argv[2], argv[3]);
	} else if (argc == 7 && !strcmp(argv[1], "--divide")) {
		module = read_module(argv[2]);
		if (!divide_large(module, argv[5], argv[6], &why))
			fail(argv[2], why);
		if (!divide_write_calls(module, argv[4]))
			fail(argv[4], NULL);
		write_module(module, argv[2], argv[3]);
	} else if (argc == 5) {
		module = read_module(argv[1]);
		if (!replace_accesses(module, argv[3], argv[4]))
			return 1;
		write_module(module, argv[1], argv[2]);
	} else {
		fail("usage", "adsmcc-spaces IN.bc OUT.bc CALLS LINES");
	}
	return 0;
}
