/* SPDX-License-Identifier: MIT */
/* keep.h - what one kernel of a module needs of it. */
#pragma once

#include "ptx/ptx.h"

/*
 * Leave out of the C text all kernels but one, and the functions that it cannot reach. Call this before
 * adsm_ptx_translate(). Pointers to functions keep their values.
 *
 * @name, @size: the kernel's name in the PTX, not NUL-terminated.
 *
 * Returns the kernel; NULL: the module has no such kernel, or memory ran out.
 */
struct adsm_ptx_function *adsm_ptx_keep(struct adsm_ptx_module *module, const char *name, size_t size);
