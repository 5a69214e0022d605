/* SPDX-License-Identifier: MIT */
/*
 * adsmcc_libm.c - how much code the functions of libm are. They are not in the module, but a core with a local store
 * has them there. The sizes are those of glibc 2.36 for x86-64, with tables and other functions that they need.
 */
#include "adsmcc_source.h"

#include <stdio.h>
#include <string.h>

#define UNKNOWN 4096			/* bytes of other functions outside of the module */

static const struct { const char *name; uint32_t bytes; } functions[] = {
	{ "acosf", 857 }, { "asinf", 748 }, { "atan2f", 1571 }, { "atanf", 766 }, { "ceilf", 157 }, { "cosf", 1259 },
	{ "coshf", 2339 }, { "erfcf", 3721 }, { "erff", 3721 }, { "exp2f", 853 }, { "expf", 873 }, { "floorf", 160 },
	{ "fmaf", 506 }, { "fmodf", 647 }, { "log10f", 1191 }, { "log2f", 857 }, { "logf", 857 }, { "powf", 1957 },
	{ "roundf", 109 }, { "sincosf", 1357 }, { "sinf", 1247 }, { "sinhf", 2475 }, { "tanf", 1483 },
	{ "tanhf", 1361 }, { "truncf", 117 },
	{ "acos", 26203 }, { "asin", 26203 }, { "atan", 15008 }, { "atan2", 16854 }, { "cbrt", 511 }, { "ceil", 160 },
	{ "cos", 10363 }, { "cosh", 4947 }, { "erf", 6659 }, { "erfc", 6659 }, { "exp", 3297 }, { "exp2", 3092 },
	{ "expm1", 1296 }, { "floor", 160 }, { "fma", 3095 }, { "fmod", 730 }, { "hypot", 1028 }, { "log", 5459 },
	{ "log10", 5804 }, { "log1p", 1137 }, { "log2", 3362 }, { "pow", 8895 }, { "round", 142 }, { "sin", 10363 },
	{ "sincos", 8059 }, { "sinh", 5093 }, { "tan", 10827 }, { "tanh", 1683 }, { "trunc", 141 },
	/* Of libc: adsmcc's code uses them for structures. */
	{ "memcpy", 256 }, { "memmove", 256 }, { "memset", 256 },
	/* Of the device (backends/scratchpad/device/heap.c). */
	{ "malloc", 0 }, { "free", 0 },
};

uint32_t library_bytes(const char *name)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(functions[i].name, name))
			return functions[i].bytes;
	return UNKNOWN;
}

const char *library_name(const char *called)
{
	const char *type;

	if (!starts(called, "llvm."))
		return called;
	called += strlen("llvm.");
	type = strrchr(called, '.');
	if (type && !strcmp(type, ".f32"))
		return format_string("%.*sf", (int)(type - called), called);
	if (type && !strcmp(type, ".f64"))
		return format_string("%.*s", (int)(type - called), called);
	return format_string("%.*s", (int)strcspn(called, "."), called);
}
