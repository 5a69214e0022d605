/* SPDX-License-Identifier: MIT */
/*
 * spaces_divide.h - prepares functions for partitions that adsmcc chooses (--partition auto): decides which functions
 * are inlined, and divides functions that are larger than a partition.
 */
#pragma once

#include <stdbool.h>

#include <llvm-c/Core.h>

/* Let the optimiser inline small functions of the module, and no others. */
void divide_inline_small(LLVMModuleRef module);
/*
 * Divide functions that are too large. LLVM's pass "extract-blocks" makes functions of some of their blocks.
 * @sizes: a file with a line for each of these functions: its name, its bytes, and the bytes that it may have.
 * @groups: a temporary file. Returns false with *ret_why if the pass fails.
 */
bool divide_large(LLVMModuleRef module, const char *sizes, const char *groups, const char **ret_why);
/* Write a line for each call between functions: the caller, the called function, and the number of times that the call
 * is estimated to run in one run of the caller. Returns false if the file cannot be written. */
bool divide_write_calls(LLVMModuleRef module, const char *path);
