/* SPDX-License-Identifier: MIT */
/* functions.h - the mathematical functions of devices, by the names that compilers call: __nv_expf and the like. */
#pragma once

#include "ptx.h"

/*
 * A function. Letters are types: r: f64 or f32, d: f64, f: f32, i: s32, u: u32, l: s64, p: an address; v: no result.
 * In the text $1 to $4 are the arguments, @ is "f" in single precision and nothing in double precision, # is the C
 * type of r.
 */
struct adsm_ptx_math {
	const char *name;		/* without __nv_, and without the f of single precision if it has r */
	char result;
	const char *arguments;
	const char *text;		/* NULL: a call of libm's function of this name */
};

/* The function of this name; NULL: there is none. @ret_single: r is f32. */
const struct adsm_ptx_math *adsm_ptx_math_find(const char *name, bool *ret_single);
enum adsm_ptx_type adsm_ptx_math_type(char letter, bool single);
/* Leave out the bodies of these functions, which are for GPUs: here the C library has better ones. */
void adsm_ptx_math_leave_out(struct adsm_ptx_module *module);
