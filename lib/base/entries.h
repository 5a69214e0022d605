/* SPDX-License-Identifier: MIT */
/*
 * entries.h - kernels in CUDA C, as their module describes them: the section adsm_entries.
 *
 * The first line is "entries 1 code LEVEL", or "entries 1 ptx" if the module has PTX and no code for its kernels.
 * LEVEL is the level of processors that the code needs (processor.h); 0 or nothing: none. For each kernel there is a
 * line, and after it a line for each parameter and for each module variable that the kernel uses:
 *
 *	kernel NAME FULL FLAGS THREADS SHARED PARAMETERS VARIABLES
 *	param NAME TYPE KIND ACCESS SIZE
 *
 * - NAME of a kernel: up to 63 characters, unique in the module. Code has it as adsm_run_NAME.
 * - FULL: the name in the PTX, up to ADSM_ENTRY_NAME_MAX characters.
 * - FLAGS: those of struct adsm_kernel_desc (adsm_kernel.h).
 * - THREADS: the largest block. SHARED: bytes of shared memory that the kernel declares.
 * - The words of a parameter are the fields of struct adsm_param (kernel.h). The name of a variable is its index.
 *
 * One space separates words. Numbers are decimal. Readers ignore further words of a line.
 */
#pragma once

#include "base/kernel.h"

#define ADSM_ENTRY_NAME_MAX 1024

/* The number of kernels, and of their parameters and variables together. -1: the text is damaged. */
long adsm_entries_count(const char *text, size_t *ret_params);
/*
 * Describe the kernels of a text that adsm_entries_count() accepts: @n kernels, and their parameters in @params.
 * Returns whether the module has PTX only, and the level of its code.
 */
bool adsm_entries_read(const char *text, size_t n, struct adsm_kernel_info *kernels, struct adsm_param *params,
		       unsigned *ret_level);
