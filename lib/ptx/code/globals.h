/* SPDX-License-Identifier: MIT */
/* globals.h - the variables of a module: constants of the C text, or device memory. */
#pragma once

#include "writer.h"

#define ADSM_PTX_NO_SYMBOL UINT32_MAX

/* Has the module memory for the variable? It has none for a declaration, nor for a sampler or a surface. */
bool adsm_ptx_has_memory(const struct adsm_ptx_variable *variable);
/*
 * Decide where the variables are: strings of the compiler's are constants in the C text, and all others are in device
 * memory. Sets their symbol. Returns the number of those in device memory.
 */
uint32_t adsm_ptx_find_symbols(const struct adsm_ptx_module *module);
/* Append the definitions of the constants. */
void adsm_ptx_write_constants(struct adsm_ptx_writer *writer);
/* Append the definitions of pointers to the variables that the function names. */
void adsm_ptx_write_pointers(struct adsm_ptx_writer *writer);
/* Append the lines of the section adsm_symbols (lib/base/symbols.h). */
void adsm_ptx_write_symbols(struct adsm_ptx_writer *writer);
