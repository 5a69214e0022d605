/* SPDX-License-Identifier: MIT */
/* adsmcc_processor.c - which processors the code of a module is for. The levels are those of lib/base/processor.h. */
#include "adsmcc_compile.h"
#include "adsmcc_source.h"

#include <stdlib.h>
#include <string.h>

const char *predefined_macros(const char *compiler, const struct list *options)
{
	struct list argv = words_of(compiler);
	struct text macros = { 0 };

	for (size_t i = 0; options && i < options->n; i++)
		list_add(&argv, options->items[i]);
	LIST_ADD(&argv, "-dM", "-E", "-xc", "-");
	if (run_tool(&argv, NULL, &macros, C_COMPILER))
		exit(1);
	return macros.bytes;
}

static bool has_all(const char *macros, const char *const *names)
{
	for (; *names; names++) {
		const char *at = strstr(macros, *names);

		if (!at || at[strlen(*names)] != ' ')
			return false;
	}
	return true;
}

/* The level that code needs, from the macros of the compiler. */
static unsigned level_of(const char *macros)
{
	static const char *const x86[][7] = {
		{ " __x86_64__", " __SSE4_2__", " __POPCNT__", NULL },
		{ " __x86_64__", " __AVX2__", " __FMA__", " __BMI2__", NULL },
		{ " __x86_64__", " __AVX512F__", " __AVX512BW__", " __AVX512DQ__", " __AVX512VL__", " __AVX512CD__",
		  NULL },
	};
	static const char *const arm[][4] = {
		{ " __aarch64__", " __ARM_FEATURE_ATOMICS", NULL },
		{ " __aarch64__", " __ARM_FEATURE_FP16_VECTOR_ARITHMETIC", " __ARM_FEATURE_DOTPROD", NULL },
	};
	unsigned level = 0;

	for (unsigned i = 0; i < sizeof(x86) / sizeof(*x86) && has_all(macros, x86[i]); i++)
		level = i + 1;
	for (unsigned i = 0; i < sizeof(arm) / sizeof(*arm) && has_all(macros, arm[i]); i++)
		level = i + 1;
	return level;
}

unsigned choose_processor(const char *compiler, struct list *options)
{
	const char *macros = predefined_macros(compiler, options);

	for (size_t i = 0; i < options->n; i++) {
		if (!strncmp(options->items[i], "-m", 2))
			return level_of(macros);
	}
	/* Without an instruction for it, each fma is a call of a function, and no compiler makes vectors of that. */
	if (strstr(macros, " __x86_64__ ") && level_of(macros) < 2) {
		list_add(options, "-march=x86-64-v3");
		return 2;
	}
	return level_of(macros);
}
