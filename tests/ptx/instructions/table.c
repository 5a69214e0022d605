/* SPDX-License-Identifier: MIT */
/*
 * table.c - see table.h. Two names that differ in one place become one, with both words in braces. So the table says
 * neither less nor more than what is tried.
 */
#include "table.h"

#include <stdlib.h>

/* Words that may stand at one place. */
static const char *const alternatives[] = {
	" eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan ",
	" rn rz rm rp ",
	" rni rzi rmi rpi ",
	" relaxed acquire release acq_rel ",
	" cta gpu sys ",
	" global shared local const param ",
	" finite infinite number notanumber normal subnormal ",
	" f4e b4e rc8 ecl ecr rc16 ",
	" wrap clamp ",
	" and or xor ",
	" inc dec ",
	" min max ",
	" v2 v4 ",
	" lo hi ",
	" approx full ",
	" L1 L2 ",
	" ca cg ",
	" volatile weak ",
	" 1d 2d 3d a1d a2d ",
	" add exch cas ",
};
static const char types[] = " pred b8 u8 s8 b16 u16 s16 f16 bf16 b32 u32 s32 f32 f16x2 bf16x2 tf32 b64 u64 s64 f64 ";

#define ALTERNATIVES (sizeof(alternatives) / sizeof(*alternatives))
#define PARTS 9
#define ROWS 16384

/* A part of a pattern: the words that stand at its place. */
struct part {
	int of;				/* an index of alternatives; -1: one word; -2: types */
	char words[160];
};

struct pattern {
	char opcode[24];
	bool merged;			/* into another one */
	int n;
	struct part parts[PARTS];
};

static struct pattern patterns[ROWS];
static int n_patterns;

void table_opcode(const char *text, char *opcode, size_t size)
{
	const char *call = strstr(text, "call");

	if (call && text[0] == '{')
		text = call;
	snprintf(opcode, size, "%.*s", (int)strcspn(text, ". ;"), text);
}

static bool has_word(const char *list, const char *word)
{
	char padded[48];

	snprintf(padded, sizeof(padded), " %.40s ", word);
	return strstr(list, padded) != NULL;
}

static int class_of(const char *opcode, const char *word)
{
	if (has_word(types, word))
		return -2;
	for (size_t i = 0; i < ALTERNATIVES; i++)
		if (has_word(alternatives[i], word) && strcmp(opcode, "membar") != 0)
			return (int)i;
	return -1;
}

/* The parts of an instruction's name. */
static void split(const char *name, struct pattern *ret_pattern)
{
	struct pattern pattern = { .n = 0 };

	table_opcode(name, pattern.opcode, sizeof(pattern.opcode));
	for (const char *at = name + strlen(pattern.opcode); *at == '.';) {
		const size_t size = strcspn(++at, ". ;");
		struct part *part = &pattern.parts[pattern.n];
		char word[40];
		int of;

		snprintf(word, sizeof(word), "%.*s", (int)size, at);
		of = class_of(pattern.opcode, word);
		if (pattern.n == PARTS)
			break;
		part->of = of;
		snprintf(part->words, sizeof(part->words), " %s ", word);
		pattern.n++;
		at += size;
	}
	*ret_pattern = pattern;
}

/* The only part that two patterns differ in; -2: none; -1: they differ in more, or in words without alternatives. */
static int difference(const struct pattern *a, const struct pattern *b)
{
	int found = -2;

	if (a->n != b->n || strcmp(a->opcode, b->opcode) != 0)
		return -1;
	for (int i = 0; i < a->n; i++)
		if (a->parts[i].of != b->parts[i].of)
			return -1;
	for (int i = 0; i < a->n; i++) {
		if (!strcmp(a->parts[i].words, b->parts[i].words))
			continue;
		if (found >= 0 || a->parts[i].of == -1)
			return -1;
		found = i;
	}
	return found;
}

static void add(const char *name)
{
	struct pattern pattern;

	split(name, &pattern);
	for (int i = 0; i < n_patterns; i++)
		if (difference(&patterns[i], &pattern) == -2)
			return;
	if (n_patterns < ROWS)
		patterns[n_patterns++] = pattern;
}

/* Make one of each two patterns that differ in one part, the types first. Returns whether there were some. */
static bool merge(bool only_types)
{
	const int before = n_patterns;
	int n = 0;

	for (int i = 0; i < n_patterns; i++) {
		for (int j = i + 1; j < n_patterns && patterns[i].n; j++) {
			const int part = patterns[j].n ? difference(&patterns[i], &patterns[j]) : -1;
			char *words;

			if (part < 0 || (only_types && patterns[i].parts[part].of != -2))
				continue;
			words = patterns[i].parts[part].words;
			if (strlen(words) + strlen(patterns[j].parts[part].words) > sizeof(patterns->parts->words))
				continue;
			strcpy(words + strlen(words) - 1, patterns[j].parts[part].words);
			patterns[j].n = 0;
			patterns[j].merged = true;
		}
	}
	for (int i = 0; i < n_patterns; i++) {
		if (patterns[i].merged)
			continue;
		if (n != i)
			patterns[n] = patterns[i];
		n++;
	}
	n_patterns = n;
	return n < before;
}

/* The names of all instructions of a text. */
static void add_text(const char *text)
{
	while (*text) {
		text += strspn(text, "{}; ");
		if (*text && strncmp(text, ".param", 6) != 0 && strncmp(text, ".reg", 4) != 0 &&
		    !strstr(text, "proto:"))
			add(text);
		else if (strstr(text, "proto:"))
			return;
		text += strcspn(text, ";");
	}
}

static void print_pattern(FILE *out, const struct pattern *pattern)
{
	fprintf(out, "%s", pattern->opcode);
	for (int i = 0; i < pattern->n; i++) {
		const char *words = pattern->parts[i].words + 1;
		const bool several = strchr(words, ' ')[1] != '\0';

		fputs(several ? ".{" : ".", out);
		for (const char *at = words; *at; at = strchr(at, ' ') + 1)
			fprintf(out, "%s%.*s", at == words ? "" : ", ", (int)strcspn(at, " "), at);
		fputs(several ? "}" : "", out);
	}
}

static int by_opcode(const void *a, const void *b)
{
	const struct pattern *x = a, *y = b;

	return strcmp(x->opcode, y->opcode) ? strcmp(x->opcode, y->opcode) : x->n - y->n;
}

void table_print(FILE *out, const struct form *forms, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add_text(forms[i].text);
	merge(true);
	while (merge(false))
		;
	qsort(patterns, (size_t)n_patterns, sizeof(*patterns), by_opcode);
	fprintf(out, "| Instruction | Forms |\n|---|---|\n");
	for (int i = 0; i < n_patterns; i++) {
		const bool first = !i || strcmp(patterns[i].opcode, patterns[i - 1].opcode) != 0;
		const bool last = i == n_patterns - 1 || strcmp(patterns[i].opcode, patterns[i + 1].opcode) != 0;

		if (first)
			fprintf(out, "| `%s` | ", patterns[i].opcode);
		fprintf(out, "%s`", first ? "" : "; ");
		print_pattern(out, &patterns[i]);
		fprintf(out, "`%s", last ? " |\n" : "");
	}
}
