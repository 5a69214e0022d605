/* SPDX-License-Identifier: MIT */
/* spaces_accesses.h - replaces each access to an address space by a call of the software cache (adsm_scratchpad.h). */
#pragma once

#include <stdbool.h>

#include <llvm-c/Core.h>

/*
 * Replace the accesses in all functions of the module. Code that it does not know is reported as an error, with its
 * line. @calls: a file that gets the calls between functions; @lines: a file that gets the lines of each function in
 * the source. Returns false if there were errors.
 */
bool replace_accesses(LLVMModuleRef module, const char *calls, const char *lines);
