/* SPDX-License-Identifier: MIT */
/*
 * spaces_variables.h - static variables of a module that its kernels may change. They are in device memory, which all
 * cores share. Their type does not say so: pointers to them look like pointers to a core's own memory. So code may only
 * access them by their names.
 */
#pragma once

#include <stdbool.h>

#include <llvm-c/Core.h>

#define SPACES_NO_POINTERS "static variables that kernels change are in device memory, and code can only access them " \
	"by their names; keep the data in an object, and declare pointers to it ADSM_SPACE_GLOBAL"

/* Call this first. Modules with tasks have no such variables: theirs stay in the memory of the process. */
void variables_begin(LLVMModuleRef module);
bool is_variable(LLVMValueRef global);
/* Keep the optimiser from changing or removing variables and tables, which code of another module uses, too. */
void variables_keep(LLVMModuleRef module);
/* Make those variables constants that no code changes. The optimiser does this, but not for variables that are kept. */
void variables_find_constants(LLVMModuleRef module);
/* The variable that a pointer points into; NULL: it is another pointer, or that is not known. */
LLVMValueRef variable_of(LLVMValueRef pointer);
/* The variable whose address the instruction uses in another way than to access it; NULL: there is none. */
LLVMValueRef variable_escapes(LLVMValueRef at);
/* Its name in the source; if it is inside a kernel, after the kernel's name. */
const char *variable_name(LLVMValueRef variable);
/* Report initial values that contain a variable's address. Returns the number of errors. */
unsigned variables_check(LLVMModuleRef module);
/* Move a variable to the section of such variables. */
void place_variable(LLVMModuleRef module, LLVMValueRef variable);
