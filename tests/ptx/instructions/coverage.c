/* SPDX-License-Identifier: MIT */
/*
 * coverage.c - see coverage.h. A row of a list stands for all its modifiers and types. Where a function of lib/ptx
 * refuses some of them, that is tried.
 */
#include "coverage.h"

#include "kernels.h"
#include "table.h"
#include "threads.h"

#include "ptx/code/list.h"

#include <stdlib.h>

#define WORDS 16

static char *tried[TABLE_NAMES];

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_hint(const char *word)
{
	return !strncmp(word, "L1::", 4) || (!strncmp(word, "L2::", 4) && strcmp(word, "L2::cache_hint") != 0);
}

/* A name whose modifiers are in the order of the alphabet, the types after them. */
static void order(const char *name, bool without_hints, char *ret_key, size_t size)
{
	static const char types[] =
		" pred b8 u8 s8 b16 u16 s16 f16 bf16 b32 u32 s32 f32 f16x2 bf16x2 tf32 b64 u64 s64 f64 ";
	char copy[160], *words[WORDS], padded[40];
	size_t n = 0, used;

	snprintf(copy, sizeof(copy), "%s", name);
	used = (size_t)snprintf(ret_key, size, "%s", strtok(copy, "."));
	while (n < WORDS && (words[n] = strtok(NULL, ".")))
		n++;
	for (int pass = 0; pass < 2; pass++) {
		char *list[WORDS];
		size_t length = 0;

		for (size_t i = 0; i < n; i++) {
			snprintf(padded, sizeof(padded), " %.30s ", words[i]);
			if ((strstr(types, padded) != NULL) != pass || (without_hints && !pass &&
			    (is_hint(words[i]) || !strcmp(words[i], "L2::cache_hint"))))
				continue;
			list[length++] = words[i];
		}
		if (!pass)
			qsort(list, length, sizeof(*list), by_text);
		for (size_t i = 0; i < length && used < size; i++)
			used += (size_t)snprintf(ret_key + used, size - used, ".%s", list[i]);
	}
}

static const char *register_of(const char *type)
{
	return !strcmp(type, "pred") || !strcmp(type, "f32") || !strcmp(type, "f64") ? type :
	       strstr(type, "64") ? "b64" : strstr(type, "32") || strstr(type, "x2") ? "b32" : "b16";
}

/*
 * Is an instruction refused that no form has? Those whose rows stand for more than what is translated get operands:
 * conversions, comparisons, and accesses to memory.
 */
static bool is_refused(const char *name)
{
	const char *last = strrchr(name, '.') + 1;
	const bool combines = strstr(name, ".and") || strstr(name, ".or") || strstr(name, ".xor");
	const bool two = !strncmp(name, "setp", 4) && strstr(last, "x2");
	char registers[96], text[192], first[16] = "b32";

	for (const char *at = strchr(name, '.'); at + 1 != last; at = strchr(at + 1, '.'))
		snprintf(first, sizeof(first), "%.*s", (int)strcspn(at + 1, "."), at + 1);
	if (!strncmp(name, "cvt", 3)) {
		snprintf(registers, sizeof(registers), "d:%s:i a:%s:i", register_of(first), register_of(last));
		snprintf(text, sizeof(text), "%s %%d, %%a;", name);
	} else if (!strncmp(name, "set", 3)) {
		snprintf(registers, sizeof(registers), "d:%s:i q:pred:p a:%s:i b:%s:i c:pred:p",
			 name[3] == 'p' ? "pred" : register_of(first), register_of(last), register_of(last));
		snprintf(text, sizeof(text), "%s %%d%s, %%a, %%b%s;", name, two ? "|%q" : "", combines ? ", %c" : "");
	} else if (!strncmp(name, "ld", 2) || !strncmp(name, "st.", 3)) {
		const char *list = strstr(name, ".v4.") ? "{%d, %d, %d, %d}" : "{%d, %d}";

		snprintf(registers, sizeof(registers), "d:%s:i m:b64:m", register_of(last));
		if (name[0] == 'l')
			snprintf(text, sizeof(text), "%s %s, [%%m];", name, list);
		else
			snprintf(text, sizeof(text), "%s [%%m], %s;", name, list);
	} else {
		return false;
	}
	return kernels_refusal(registers, text) != NULL;
}

static size_t check_name(const char *name, bool without_hints)
{
	char key[160];

	order(name, without_hints, key, sizeof(key));
	/* A name that is new is taken into the list, and so told once. */
	if (!table_is_new(tried, key) || is_refused(name))
		return 0;
	printf("no form of the test has %s, which lib/ptx translates\n", name);
	return 1;
}

/* All modifiers of the rest of a row, then all types. */
static size_t expand(const struct adsm_ptx_form *row, const char *words, const char *name)
{
	const size_t size = strcspn(words, " ");
	const bool optional = words[0] == '?' || words[0] == '~';
	char longer[160];
	size_t n_missing = 0;

	if (!*words) {
		for (const char *type = row->types; *type; type += strspn(type, " ")) {
			snprintf(longer, sizeof(longer), "%s.%.*s", name, (int)strcspn(type, " "), type);
			n_missing += check_name(longer, strchr(row->modifiers, '~') != NULL);
			type += strcspn(type, " ");
		}
		return row->types[0] ? n_missing : check_name(name, strchr(row->modifiers, '~') != NULL);
	}
	if (optional)
		n_missing += expand(row, words + size + (words[size] == ' '), name);
	for (const char *at = words + optional; at < words + size && words[0] != '~';) {
		const size_t length = strcspn(at, "| ");

		snprintf(longer, sizeof(longer), "%s.%.*s", name, (int)length, at);
		n_missing += expand(row, words + size + (words[size] == ' '), longer);
		at += length + 1;
	}
	return n_missing;
}

/* Has a form of the test a hint, where a row allows them? */
static size_t check_hints(const struct adsm_ptx_form *row, const struct form *forms, size_t n)
{
	char wanted[32];

	if (!strchr(row->modifiers, '~'))
		return 0;
	snprintf(wanted, sizeof(wanted), "%s.", row->opcode);
	for (size_t i = 0; i < n; i++)
		if (!strncmp(forms[i].text, wanted, strlen(wanted)) &&
		    (strstr(forms[i].text, ".L1::") || strstr(forms[i].text, ".L2::")))
			return 0;
	printf("no form of %s in the test has a hint about caches\n", row->opcode);
	return 1;
}

static void note(const char *text)
{
	char name[128], key[160];

	for (const char *at = table_next(text, name, sizeof(name)); at; at = table_next(at, name, sizeof(name))) {
		for (int without = 0; without < 2; without++) {
			order(name, without, key, sizeof(key));
			table_is_new(tried, key);
		}
	}
}

size_t coverage_check(const struct form *forms, size_t n)
{
	size_t n_missing = 0;

	for (size_t i = 0; i < n; i++)
		note(forms[i].text);
	for (size_t i = 0; threads_text(i); i++)
		note(threads_text(i));
	for (size_t i = 0; adsm_ptx_table(i); i++) {
		for (const struct adsm_ptx_form *row = adsm_ptx_table(i); row->opcode; row++) {
			n_missing += expand(row, row->modifiers, row->opcode);
			n_missing += check_hints(row, forms, n);
		}
	}
	return n_missing;
}
